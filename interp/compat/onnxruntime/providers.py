"""Execution providers, of which there is one here: names are checked, and others left out, as onnxruntime does it."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .options import outside

CPU = "CPUExecutionProvider"
KNOWN = ("TensorrtExecutionProvider", "CUDAExecutionProvider", "MIGraphXExecutionProvider", "OpenVINOExecutionProvider",
         "DnnlExecutionProvider", "VitisAIExecutionProvider", "QNNExecutionProvider", "NnapiExecutionProvider",
         "VSINPUExecutionProvider", "JsExecutionProvider", "CoreMLExecutionProvider", "DmlExecutionProvider",
         "RknpuExecutionProvider", "WebNNExecutionProvider", "WebGpuExecutionProvider", "XnnpackExecutionProvider",
         "CANNExecutionProvider", "AzureExecutionProvider", CPU)


def get_all_providers() -> list[str]:
    """Every provider that onnxruntime knows of."""
    return list(KNOWN)


def get_available_providers() -> list[str]:
    """The provider that is there."""
    return [CPU]


def get_device() -> str:
    """The kind of device that sessions run on."""
    return "CPU"


def check_and_normalize_provider_args(providers: Sequence[Any] | None, provider_options: Sequence[dict] | None,
                                      available_provider_names: Sequence[str]) -> tuple[list[str], list[dict[str, str]]]:
    """Names and their options; a warning for each that is not there or is named twice, ValueError for what makes no sense."""
    if providers is None:
        return [], []
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    found: dict[str, dict[str, str]] = {}
    for name, options in pairs(providers, provider_options):
        if name not in available_provider_names:
            warnings.warn(f"Specified provider '{name}' is not in available provider names."
                          f"Available providers: '{', '.join(available_provider_names)}'", stacklevel=outside())
        if name in found:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=outside())
            continue
        found[name] = {str(k): str(v) for k, v in options.items()}
    return list(found), list(found.values())


def pairs(providers: Sequence[Any], provider_options: Sequence[dict] | None) -> list[tuple[str, dict]]:
    """Providers with their options, which come with the names or beside them."""
    if provider_options is None:
        made = [(p, {}) if isinstance(p, str) else p for p in providers]
        if not all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) and isinstance(p[1], dict) for p in made):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        return made
    if not isinstance(provider_options, Sequence):
        raise ValueError("'provider_options' should be a sequence.")
    if len(providers) != len(provider_options):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    if not all(isinstance(p, str) for p in providers):
        raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
    if not all(isinstance(o, dict) for o in provider_options):
        raise ValueError("'provider_options' values must be dicts.")
    return list(zip(providers, provider_options, strict=True))


def settle(providers: Sequence[Any] | None, provider_options: Sequence[dict] | None) -> list[str]:
    """The providers of a session, always the CPU's. Raises RuntimeError for a name that onnxruntime does not know either."""
    for name in check_and_normalize_provider_args(providers, provider_options, get_available_providers())[0]:
        if name not in KNOWN:
            raise RuntimeError(f"Unknown Provider Type: {name}")
    return [CPU]
