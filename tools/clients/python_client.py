"""The generated modules of clients/python: errors, operations and methods, beside the models."""

import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.clients.document import Field, Interface, Operation
from tools.clients.python_models import (
    WIDTH,
    camel,
    head,
    models,
    param_names,
    param_type,
    params,
    read_function,
)

FOLDER = Path(__file__).parents[2] / "clients" / "python"
PACKAGE = FOLDER / "src" / "laari_client"

STATUS_ERRORS = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    409: "ConflictError",
    429: "RateLimitedError",
}
SERVER_ERROR = "ServerError"
KEY = (
    "A call that is repeated with the same key counts once. Default: a new key for each call, "
    "which its retries keep."
)


def python_files(interface: Interface) -> dict[Path, str]:
    modules = {
        "models.py": models(interface),
        "params.py": params(interface),
        "errors.py": _errors(interface),
        "_operations.py": _operations(interface),
        "_resources.py": _resources(interface, is_async=False),
        "_async_resources.py": _resources(interface, is_async=True),
    }
    return {PACKAGE / name: _formatted(name, lines) for name, lines in modules.items()}


def _formatted(name: str, lines: Iterable[str]) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    file = str(PACKAGE / name)
    text = "\n".join(lines) + "\n"
    for action in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format"]):
        text = subprocess.run(  # noqa: S603  # our own Python, and what was made here
            [*ruff, *action, "--stdin-filename", file, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


# Errors


def error_class(code: str) -> str:
    name = camel(code)
    return name if name.endswith("Error") else f"{name}Error"


def _errors(interface: Interface) -> Iterator[str]:
    bases = [*STATUS_ERRORS.values(), SERVER_ERROR]
    others = ["APIError", "ConfigurationError", "ConnectionFailedError", "InvalidResponseError"]
    others += ["LaariError", "RequestTimeoutError", "WebhookVerificationError"]
    yield from head(
        "Every error: one class for each code of the service, under one for each kind of status.",
        "from typing import Dict, Type",
        f"from laari_client._errors import {', '.join(sorted([*bases, *others]))}",
    )
    codes = interface.codes | interface.token_codes
    made = {code: error_class(code) for code in codes}
    for code, name in made.items():
        if name in bases:
            continue
        base = STATUS_ERRORS.get(codes[code], SERVER_ERROR if codes[code] >= 500 else "APIError")
        yield f'class {name}({base}):\n    """`{code}`, HTTP {codes[code]}"""\n\n'
    yield "BY_CODE: Dict[str, Type[APIError]] = {"
    yield from (f'    "{code}": {name},' for code, name in made.items())
    yield "}\nBY_STATUS: Dict[int, Type[APIError]] = {"
    yield from (f"    {status}: {name}," for status, name in STATUS_ERRORS.items())
    yield "}\n\n"
    yield "def error_class(code: str, status: int) -> Type[APIError]:"
    yield '    """The class of a code; of a code that is new, that of its status."""'
    yield f"    other = {SERVER_ERROR} if status >= 500 else BY_STATUS.get(status, APIError)"
    yield "    return BY_CODE.get(code, other)\n\n"
    yield f"__all__ = {sorted({*made.values(), *bases, *others, 'error_class'})!r}"


# Operations and methods


def _operations(interface: Interface) -> Iterator[str]:
    yield from head("The operations of the interface.", "from laari_client._call import Operation")
    yield f'API_VERSION = "{interface.version}"\n'
    for each in interface.operations:
        yield f'{each.name.upper()} = Operation("{each.name}", "{each.method}", "{each.path}", '
        yield f'    audience="{each.audience}", keyed={each.keyed}, '
        yield f"    repeatable={each.place.repeatable}"
        if each.cursor:
            yield f', cursor="{each.cursor}"'
        yield ", binary=True)" if each.result == "bytes" else ")"


def _resources(interface: Interface, *, is_async: bool) -> Iterator[str]:
    prefix = "Async" if is_async else ""
    answers = sorted({each.answers for each in interface.operations if each.answers})
    yield from head(
        "The methods of the asynchronous client." if is_async else "The methods of the client.",
        "from typing import List, Literal, Mapping, Optional, TYPE_CHECKING",
        "from laari_client import _operations as ops",
        "from laari_client._call import Call, many",
        f"from laari_client._listing import {prefix}Listing",
        f"from laari_client.models import {', '.join(answers)}, read_event, read_payment",
        f"from laari_client.params import {', '.join(param_names(interface))}",
        "if TYPE_CHECKING:",
        f"    from laari_client.{'_async' if is_async else '_sync'} import {prefix}Connection",
    )
    groups = interface.groups
    nested = {name for name in groups if "." in name}
    for group in sorted(groups, key=lambda name: name not in nested):
        inner = [name for name in nested if name.startswith(f"{group}.")]
        yield f"class {_group_class(prefix, group)}:"
        yield f'    """`client.{group}`"""\n'
        yield f"    def __init__(self, connection: {prefix}Connection) -> None:"
        yield "        self._connection = connection"
        for name in sorted(inner):
            own = name.partition(".")[2]
            yield f"        self.{own} = {_group_class(prefix, name)}(connection)"
        yield ""
        for operation in groups[group]:
            yield from _method(operation, is_async=is_async)
        yield ""
    yield f"class {prefix}Resources:"
    yield '    """Everything the interface offers, by what it is about."""\n'
    yield f"    def __init__(self, connection: {prefix}Connection) -> None:"
    for group in groups:
        if group not in nested:
            yield f"        self.{group} = {_group_class(prefix, group)}(connection)"


def _group_class(prefix: str, group: str) -> str:
    return prefix + "".join(camel(part) for part in group.split("."))


def _method(operation: Operation, *, is_async: bool) -> Iterator[str]:
    paged = operation.result == "pages"
    named = [*operation.query, *(operation.body or ())]
    arguments = ["self"]
    if operation.has_id:
        arguments.append("id: str")
    if named or operation.keyed:
        arguments.append("*")
    # What is wanted first, as the call reads.
    for each in sorted(named, key=lambda field: not field.required):
        kind = param_type(each)
        arguments.append(
            f"{each.name}: {kind}" if each.required else f"{each.name}: Optional[{kind}] = None"
        )
    if operation.keyed:
        arguments.append("idempotency_key: Optional[str] = None")
    result, read = _result(operation, is_async=is_async)
    awaited = is_async and not paged
    yield (
        f"    {'async ' if awaited else ''}def {operation.place.method}"
        f"({', '.join(arguments)}) -> {result}:"
    )
    yield from _docstring(operation, named)
    yield f"        call = Call(ops.{operation.name.upper()},"
    if operation.has_id:
        yield "            id=id,"
    if operation.query:
        yield f"            query={_dict(operation.query)},"
    if operation.body is not None:
        yield f"            body={_dict(operation.body)},"
    if operation.keyed:
        yield "            key=idempotency_key,"
    yield "        )"
    if paged:
        listing = "AsyncListing" if is_async else "Listing"
        yield f"        return {listing}(self._connection, call, {read})"
    else:
        yield f"        return {'await ' if awaited else ''}self._connection.run(call, {read})"
    yield ""


def _docstring(operation: Operation, named: Iterable[Field]) -> Iterator[str]:
    described = {each.name: each.description for each in named if each.description}
    if operation.keyed:
        described["idempotency_key"] = KEY
    first = f'        """{operation.summary.rstrip(".")}.'
    if not described:
        yield f'{first}"""'
        return
    yield f"{first}\n"
    for name, description in described.items():
        yield textwrap.fill(
            f"`{name}`: {description}",
            WIDTH,
            initial_indent="        ",
            subsequent_indent="            ",
        )
    yield '        """'


def _dict(fields: Iterable[Field]) -> str:
    return "{" + ", ".join(f'"{each.name}": {each.name}' for each in fields) + "}"


def _result(operation: Operation, *, is_async: bool) -> tuple[str, str]:
    """The type that the method returns, and what reads it."""
    if operation.result == "bytes":
        return "bytes", "bytes"
    name = operation.answers
    read = read_function(name)
    if operation.result == "one":
        return name, read
    if operation.result == "list":
        return f"List[{name}]", f"many({read})"
    return f"{'AsyncListing' if is_async else 'Listing'}[{name}]", read
