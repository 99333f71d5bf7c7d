"""What the routes of our APIs refuse alike: parameters that they do not have, and ids that are none."""

from collections.abc import Iterator
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from mailroom_common.web import HTTPProblem

DocSourceId = Annotated[UUID, Path(description="Id of the doc source.")]
DocSourceFilter = Annotated[UUID | None, Query(description="Only of this doc source.")]


class Comparable(Protocol):
    def __gt__(self, other: Any, /) -> bool: ...  # Any: of the same type


Bound = TypeVar("Bound", bound=Comparable)


def refuse_value(name: str, wanted: str, *, place: str = "query") -> HTTPProblem:
    """422 as a value gets it that has not the form of its parameter: `wanted` says what is accepted."""
    return HTTPProblem(422, "The request is not valid", errors=[{"loc": [place, name], "msg": wanted}])


def require_range(
    first_name: str, first: Bound | None, last_name: str, last: Bound | None, *, place: str = "query"
) -> None:
    """A range that ends before it begins would list nothing, as if there were nothing.

    Raises:
        HTTPProblem: 422, which names both parameters.
    """
    if first is not None and last is not None and first > last:
        raise refuse_value(first_name, f"it must not be beyond {last_name}: give the lower end here", place=place)


async def refuse_unknown_parameters(request: Request) -> None:
    """A router's dependency. A filter whose name is misspelt, or whose first of two values is passed over, would
    otherwise be one that was never given.

    Raises:
        HTTPProblem: 400, which names the parameters and those that there are.
    """
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = set(_list_query_parameters(route.dependant))
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        there_are = f"It takes {', '.join(sorted(known))}." if known else "It takes none."
        raise HTTPProblem(
            400,
            "Unknown query parameter",
            # Names come from outside: they are cut, and `repr` leaves nothing of theirs unescaped.
            f"{', '.join(repr(name[:50]) for name in unknown[:10])} is no parameter of this call. {there_are}",
            parameters=[name[:50] for name in unknown[:10]],
        )
    # No call of ours takes a list in its address.
    repeated = sorted(name for name in known if len(request.query_params.getlist(name)) > 1)
    if repeated:
        raise HTTPProblem(
            400,
            "Query parameter given twice",
            f"{', '.join(repeated)}: one value is needed. Ask once for each.",
            parameters=repeated,
        )


def _list_query_parameters(dependant: Dependant) -> Iterator[str]:
    """Those of the call itself and of what it depends on."""
    yield from (parameter.alias for parameter in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _list_query_parameters(needed)
