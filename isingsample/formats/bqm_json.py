"""Binary quadratic models as dimod writes them to JSON."""

import json

from isingsample._core.extras import import_dimod
from isingsample.formats.errors import FormatError, read_text
from isingsample.formats.source import Model, Source
from isingsample.interop.convert import from_bqm


def read_bqm_json(path: Source) -> Model:
    """The problem of a file made by json.dump(bqm.to_serializable(), file).

    Raises:
        FormatError: the file is not JSON, or not a serialized BQM.
        MissingExtraError: dimod is not installed.
    """
    dimod = import_dimod("a BQM file")
    try:
        content = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(path, f"not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("type") != "BinaryQuadraticModel":
        raise FormatError(path, "not a binary quadratic model as dimod's to_serializable() writes")
    try:
        bqm = dimod.BinaryQuadraticModel.from_serializable(content)
    except Exception as error:  # dimod raises whatever the missing or malformed entry provokes
        raise FormatError(path, f"a malformed binary quadratic model: {error!r}") from None
    return Model(from_bqm(bqm), bqm.vartype.name)
