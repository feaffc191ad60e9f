"""The field table: each call and type of the native API, written down once.

generate.py generates the C structs, the checks, the routes and the OpenAPI document from it. A new
field is a row here and its use in the handler; a new call is a row here and handle_NAME() in
src/host.
"""
from . import (
    common,
    documents,
    executions,
    files,
    kernels,
    links,
    operations,
    ports,
    processes,
    runs,
    sessions,
    snapshots,
    stored,
    tenants,
    volumes,
    watch,
)
from .errors import ERRORS, HTTP_ERRORS
from .model import NOTHING

__all__ = ["CALLS", "ERRORS", "HTTP_ERRORS", "PARTS", "STRUCTS", "TAGS"]

# Order of the reference.
PARTS = (
    operations,
    sessions,
    snapshots,
    executions,
    kernels,
    processes,
    ports,
    files,
    watch,
    links,
    documents,
    stored,
    volumes,
    runs,
    tenants,
)
STRUCTS = (common.CALLER, NOTHING, common.IN_NUMBERS, common.IN_QUEUE, common.FAILURE, common.EVENT,
           common.EVENTS, *(each for part in PARTS for each in part.STRUCTS))
CALLS = tuple(each for part in PARTS for each in part.CALLS)
TAGS = {call.name: part.TAG[0] for part in PARTS for call in part.CALLS}
