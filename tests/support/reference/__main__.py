"""`make reference`: writes the generated pages anew."""

from reference import ROOT, build_reference

reference = build_reference()
for name, text in reference.files.items():
    (ROOT / name).write_text(text)
    print(f"{name}: {len(text.splitlines())} lines")
print(*reference.gaps, sep="\n")
