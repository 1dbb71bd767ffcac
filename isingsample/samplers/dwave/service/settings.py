"""How the connection to D-Wave is configured, and where each part of that comes from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isingsample.samplers.dwave.service.connect import configuration, require_ocean
from isingsample.samplers.dwave.service.failures import without_userinfo

# Ocean's environment variables, by the option that each stands in for.
_VARIABLES = {
    "token": "DWAVE_API_TOKEN",
    "endpoint": "DWAVE_API_ENDPOINT",
    "region": "DWAVE_API_REGION",
    "solver": "DWAVE_API_SOLVER",
    "profile": "DWAVE_PROFILE",
    "config_file": "DWAVE_CONFIG_FILE",
}
_DEFAULTS = {
    "token": "not set",
    "endpoint": "by the region",
    "region": "Ocean's default",
    "solver": "the one with most qubits",
    "profile": "the file's first",
    "config_file": "none found",
}


@dataclass(frozen=True)
class Setting:
    """A part of the configuration.

    Attributes:
        name: such as "endpoint".
        value: as it is used; of the token only whether it is set.
        source: "option", an environment variable, a file, or "default".
    """

    name: str
    value: str
    source: str


def qpu_settings(options: Mapping[str, Any]) -> list[Setting]:
    """The configuration that a `DWave` sampler with these options would use.

    Args:
        options: token, solver, profile, region, endpoint and config_file of the sampler; None
            where they are not given.

    Raises:
        CredentialsError: a configuration file cannot be used.
        MissingExtraError: Ocean is not installed.
    """
    require_ocean()
    given = {name: value for name, value in options.items() if value is not None}
    config = configuration(given)
    return [_setting(name, given, config) for name in _VARIABLES]


def _setting(name: str, given: Mapping[str, Any], config: Mapping[str, Any]) -> Setting:
    variable = _VARIABLES[name]
    if name == "config_file" and not (given.get(name) or os.environ.get(variable)):
        files = _files(given)
        return Setting(name, ", ".join(files) or _DEFAULTS[name], "default")
    if given.get(name):
        value, source = given[name], "option"
    elif os.environ.get(variable) and (name in config or name in ("profile", "config_file")):
        value, source = os.environ[variable], f"environment variable {variable}"
    elif config.get(name):
        value, source = config[name], f"file {_file_with(name, given)}"
    elif name == "region" and config.get("endpoint"):
        return Setting(name, "by the endpoint", "default")
    else:
        return Setting(name, _DEFAULTS[name], "default")
    if name == "token":
        return Setting(name, "set", source)
    shown = without_userinfo(str(value)) if name == "endpoint" else str(value)
    return Setting(name, shown, source)


def _files(given: Mapping[str, Any]) -> list[str]:
    """The configuration files in use; the last one has the last word."""
    from dwave.cloud.config import get_configfile_paths

    named = given.get("config_file") or os.environ.get(_VARIABLES["config_file"])
    return [named] if named else list(dict.fromkeys(get_configfile_paths()))


def _file_with(name: str, given: Mapping[str, Any]) -> str:
    """The file that sets a name in the profile in use."""
    from dwave.cloud.config import load_profile_from_files

    profile = given.get("profile") or os.environ.get(_VARIABLES["profile"])
    for path in reversed(_files(given)):
        try:
            if load_profile_from_files([path], profile).get(name):
                return path
        except ValueError:  # the profile is in another file
            continue
    return ", ".join(_files(given))
