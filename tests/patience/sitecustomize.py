"""Longer deadlines for everything that tests start: on a busy machine nothing is late.

A service refuses work that it cannot do within seconds, which is right for shops and wrong for
tests beside a benchmark. So this file multiplies the deadlines below while their modules are
imported. Python imports it first of all in each process that has its folder in `PYTHONPATH`; the
service itself knows nothing of it. Tests of the deadlines use `in_earnest` (tests/fixtures.py).
"""

import ast
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

FACTOR = 10
FOLDER = str(Path(__file__).parent)
# By module: constants of the module, and default values of fields of its classes.
DEADLINES = {
    "laari.spine.batches": (
        "AWAY_WAIT_SECONDS",
        "PATIENT_LOCK_SECONDS",
        "RERUN_SECONDS",
        "SINGLY_SECONDS",
        "WAIT_SECONDS",
    ),
    "laari.store.batch.runner": ("COMMIT_SECONDS", "LOAD_SECONDS", "STATEMENT_SECONDS"),
    "laari.store.postgres.connect": ("CONNECT_SECONDS",),
    "laari.store.postgres.pool": (
        "ACQUIRE_SECONDS",
        "PING_SECONDS",
        "READY_SECONDS",
        "SECOND_TRY_SECONDS",
        "STATEMENT_SECONDS",
    ),
    "laari.edge.backend": ("PAGE_STATEMENT_SECONDS", "SCRAPE_SECONDS"),
    "laari.edge.load.hashing": ("LONGEST_WAIT_SECONDS",),
    "laari.edge.load.heavy": ("PATIENCE_SECONDS",),
    "laari.http.connection_limits": ("closed_wait_seconds", "head_seconds", "wait_seconds"),
    "laari.process.heartbeat": ("SILENT_SECONDS",),
    "laari.workers.webhooks.delivery": ("ANSWER_SECONDS",),
}


class _Longer(ast.NodeTransformer):
    def __init__(self, names: Sequence[str]) -> None:
        self.missing = set(names)

    def _visit(self, node: Any, target: ast.expr) -> Any:
        if isinstance(target, ast.Name) and target.id in self.missing:
            self.missing.remove(target.id)
            factor = ast.Constant(FACTOR)
            node.value = ast.copy_location(ast.BinOp(node.value, ast.Mult(), factor), node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._visit(node, node.targets[0])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return self._visit(node, node.target)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache, nor into it: other processes have the real deadlines."""
        path = self.get_filename(fullname)
        longer = _Longer(DEADLINES[fullname])
        tree = longer.visit(ast.parse(self.get_data(path), path))
        if longer.missing:
            raise ImportError(f"{fullname} has no {', '.join(sorted(longer.missing))}")
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in DEADLINES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


def python_path(*first: str) -> str:
    """The `PYTHONPATH` of processes that are started now, with these folders or without ours."""
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([*first, *(each for each in others if each not in ("", FOLDER))])


sys.meta_path.insert(0, _Finder())
os.environ["PYTHONPATH"] = python_path(FOLDER)
