"""The field table: each call and type of the native API, written down once.

generate.py makes the C structs, the checks, the routes and the OpenAPI document of it. A new field is
a row here and its use in the handler; a new call is a row here and handle_NAME() in src/host.
"""
from . import common, executions, kernels, operations, sessions, tenants

PARTS = (operations, sessions, executions, kernels, tenants)
STRUCTS = (common.CALLER, *(each for part in PARTS for each in part.STRUCTS))
CALLS = tuple(each for part in PARTS for each in part.CALLS)
