"""`make reference`: writes docs/reference.md anew."""

from reference import PAGE, build_reference

reference = build_reference()
PAGE.write_text(reference.page)
print(f"{PAGE.name}: {len(reference.page.splitlines())} lines", *reference.gaps, sep="\n")
