"""`interp run`: feeds a model, runs it, shows, saves and checks what comes out."""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import interp
from interp.cli import checks, pictures, report, show, specs
from interp.cli.feeds import Feed, collect
from interp.errors import UsageError

QUICK = 1.0  # seconds; a first run shorter than this is followed by a second, which shows what later ones cost


@dataclass
class Run:
    """Everything that one call of the command has found out."""

    args: argparse.Namespace
    opened: Callable[..., Any]  # the model's sessions, by optimize
    session: Any
    feeds: list[Feed]
    outputs: dict[str, Any] = field(default_factory=dict)
    load: float = 0.0
    first: float = 0.0
    later: list[float] = field(default_factory=list)
    verdicts: list[checks.Verdict] = field(default_factory=list)
    nans: list[str] = field(default_factory=list)
    blame: str = ""
    notices: list[str] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    measured: Any = None

    @property
    def ok(self) -> bool:
        return all(v.ok for v in self.verdicts) and not self.nans

    def tell(self, text: str) -> None:
        """A notice, shown unless the user wants quiet."""
        self.notices.append(text)
        if not self.args.quiet:
            show.notice(text)

    def best(self, value: Any) -> list[list[dict[str, Any]]]:
        """The best classes of an output, where it has classes."""
        return show.top(value, self.args.topk, show.labels(self.session.metadata["props"]))


def main(args: argparse.Namespace) -> int:
    """Do what the arguments say; 1 where a check fails."""
    if args.save_image:
        pictures.ready(args.save_image)
    if args.output and Path(args.output).suffix in specs.FILES and Path(args.output).suffix not in (".npz", ".npy"):
        raise UsageError(f"-o {args.output}: outputs are saved as .npz, as .npy, or to a folder of .npy")
    load = partial(interp.load, args.model, threads=args.threads, precision=args.precision, trusted=tuple(args.trusted),
                   registry=layered(args.kernels))
    since = time.perf_counter()
    session = load(optimize=args.optimize)
    loaded = time.perf_counter() - since
    run = Run(args, load, session, [], load=loaded)
    run.feeds = collect(session, args, run.tell)
    feeds = {f.name: f.value for f in run.feeds}
    names, tensors = wanted(session, args)
    since = time.perf_counter()
    run.outputs = dict(zip([*names, *tensors], session.run(names, feeds, tensors=tensors), strict=True))
    run.first = time.perf_counter() - since
    run.later = timed(lambda: session.run(names, feeds, tensors=tensors), run)
    check(run, feeds)
    if args.profile or args.trace:
        from interp.cli import profiles  # it takes as long to import as a small model to run

        run.measured = profiles.measured(session, feeds, args)
    if args.output:
        save(run.outputs, Path(args.output))
    if args.save_image:
        run.images = pictures.save(run.outputs, Path(args.save_image), run.tell)
    if args.topk and not any(map(run.best, run.outputs.values())):
        run.tell("--topk: no output has rows of scores, which have one axis longer than 1 beside the first")
    report.tell(run)
    return 0 if run.ok else 1


def layered(modules: list[str]) -> interp.Registry:
    """The standard operators, under those of the user's modules where there are any."""
    if not modules:
        return interp.standard
    registry = interp.Registry(interp.standard)
    for text in modules:
        found = [made for made in vars(module_of(text)).values() if isinstance(made, interp.Op)]
        if not found:
            raise UsageError(f"{text} holds no operators; declare a function as one with @interp.op(\"Name\", shape=rule)")
        registry.add(*found)
    return registry


def module_of(text: str) -> ModuleType:
    """A module by its name, or from its file, a compiled one too."""
    path = Path(text)
    try:
        if not path.is_file():
            if path.suffix in (".py", ".so", ".pyd") or len(path.parts) > 1:
                raise UsageError(f"--kernels {text}: there is no such file")
            sys.path.insert(0, "")
            return importlib.import_module(text.removesuffix(".py"))
        spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
        if spec is None or spec.loader is None:
            raise UsageError(f"{text} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        spec.loader.exec_module(module)
        return module
    except interp.InterpError:
        raise
    except (Exception, SystemExit) as problem:
        raise UsageError(f"--kernels {text}: {type(problem).__name__}: {problem}") from problem


def wanted(session: Any, args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The outputs that a run is asked for, and tensors from inside the graph."""
    ends = [v.name for v in session.outputs]
    if args.all_tensors:
        return [], list(dict.fromkeys([*(v.name for v in session.tensors), *ends]))
    asked = list(dict.fromkeys(args.outputs)) or ends
    return (asked, []) if set(asked) <= set(ends) else ([], asked)


def timed(once: Callable[[], Any], run: Run) -> list[float]:
    """Seconds of every run after the first and the warm-up."""
    runs = int(run.first < QUICK) if run.args.runs is None else run.args.runs
    total = run.args.warmup + runs
    seconds = []
    with show.Progress(total if run.first * total > QUICK and not run.args.quiet else 0) as progress:
        for _ in range(total):
            since = time.perf_counter()
            once()
            seconds.append(time.perf_counter() - since)
            progress.step()
    return seconds[run.args.warmup:]


def check(run: Run, feeds: dict[str, Any]) -> None:
    """Compare with what is expected, and look for NaN."""
    args = run.args
    if args.expect:
        run.verdicts = [checks.compare(*found, args.rtol, args.atol)
                        for found in checks.expectations(args.expect, run.session.outputs, run.outputs)]
    if args.check_nan or args.check_finite:
        run.nans = [name for name, value in run.outputs.items() if checks.has_nan(value, args.check_finite)]
    if run.nans:
        found = None
        for level in dict.fromkeys((0, args.optimize)):  # fused, nodes have lost their names
            found = found or first_spoilt(run.opened(optimize=level), feeds, args.check_finite)
        what = "NaN or infinity" if args.check_finite else "NaN"
        fed = [f"the input {f.name} holds {what}" for f in run.feeds if checks.has_nan(f.value, args.check_finite)]
        run.blame = "; ".join([*fed, *([found] if found else [])])


def first_spoilt(session: Any, feeds: dict[str, Any], infinite: bool) -> str | None:
    """The node that makes the first NaN of a run, or infinity."""
    from interp import nonfinite  # likewise

    session.open_bodies()
    found = nonfinite.search(session, feeds, infinite)
    return None if found is None else f"{found.event.node} ({found.event.op_type}) gives the first, in {found.spoilt[0].name}"


def save(outputs: dict[str, Any], place: Path) -> None:
    """Write outputs to one .npz or .npy, or each to a file of its own in a folder."""
    arrays = {key: checks.storable(a) for name, value in outputs.items() for key, a in checks.parts(name, value)}
    if place.suffix == ".npz":
        checks.save_archive(place, arrays)
    elif place.suffix == ".npy":
        if len(arrays) != 1:
            raise UsageError(f"{place} holds one array, there are {len(arrays)}; -o FILE.npz holds all, --outputs NAME picks one")
        np.save(place, next(iter(arrays.values())))
    else:
        place.mkdir(parents=True, exist_ok=True)
        for key, array in arrays.items():
            np.save(place / f"{checks.file_name(key)}.npy", array)
