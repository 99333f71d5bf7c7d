"""What a provider may answer in any field, whatever its documentation says."""

ODD_JSON_VALUES: tuple[object, ...] = (
    None,
    True,
    7,
    1.5,
    "",
    "x",
    "9" * 5000,
    "\ud83d\x00",
    [],
    [None],
    [7, {}],
    {},
)
