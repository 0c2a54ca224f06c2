"""onnxruntime.capi.onnxruntime_validation: what the package is called, and that the system suits it."""
from ..version import __version__


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """The package, its version, and that of CUDA, which it lacks."""
    return "onnxruntime", __version__, ""


def check_distro_info() -> None:
    """There is nothing to check: what runs was compiled for this system."""
