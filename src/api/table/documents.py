"""Documents: small JSON objects of a tenant, in collections that clients name."""
from dataclasses import replace

from .common import moment
from .model import Call, Field, Struct

TAG = ("Documents", "Small JSON objects that clients and dialects remember")
DOCUMENT_MAX = 1 << 20
NAME_MAX = 64
LABELS = {"type": "object", "maxProperties": 16, "additionalProperties": {
    "type": "string", "maxLength": 512}, "propertyNames": {"minLength": 1, "maxLength": 64}}
LABELS_MAX = 64 << 10
ETAGS = {"place": "header", "least": 1, "most": 1024}


COLLECTION = Field("collection", "id", "Name of a collection: letters, digits, '_', '.' and '-'; it "
                   "is there as long as a document is in it", place="path", required=True,
                   most=NAME_MAX)
ID = Field("id", "id", "Id of a document: letters, digits, '_', '.' and '-'", place="path",
           required=True, most=NAME_MAX)
FILTER = Field("metadata", "text", "Only documents that have each of these entries in their "
               "metadata: a JSON object of strings", place="query", least=1, most=4096,
               schema={"type": "string", "minLength": 1})
IF_MATCH = Field("If-Match", "text", "Only when the document has this ETag; `*`: any", **ETAGS)
IF_NONE = Field("If-None-Match", "text", "`*`: only when there is no such document", **ETAGS)
METADATA = Field("metadata", "object", "Strings to list documents by: at most 16, names of at most "
                 "64 and values of at most 512 characters", most=LABELS_MAX, schema=LABELS)
EXPIRES = (
    Field("expires_in_s", "seconds", "Removed so many seconds from now", least=1000,
          most=10 * 366 * 86400 * 1000, excludes=("expires_at",)),
    Field("expires_at", "time", "Removed then"),
)
VALUE = Field("value", "object", "The document itself, a JSON object of at most 1 MiB",
              most=DOCUMENT_MAX)

DOCUMENT = Struct("document", "A document.", (
    Field("collection", "text", "Where it is", required=True),
    Field("id", "text", "Its id there", required=True),
    Field("etag", "text", "Names this state of it, without quotes", required=True),
    moment("created_at", "When it was made", required=True),
    moment("updated_at", "When it was changed last", required=True),
    Field("expires_at", "time", "When it is removed; null: never", nullable=True),
    Field("metadata", "json", "Strings to list documents by", required=True, schema=LABELS),
    Field("value", "json", "The document itself", schema={"type": "object"}),
), schema="Document")

DOCUMENTS = Struct("documents", "A page of documents.", (
    Field("documents", "many", "In the order that was asked for", required=True, of=DOCUMENT),
    Field("next", "text", "Where the page after this one begins: for `before` when the newest come "
          "first, else for `after`; null: this is the last page", nullable=True),
), schema="DocumentList")

CLEARED = Struct("cleared", "Documents that were removed.", (
    Field("deleted", "number", "How many", required=True),
    Field("more", "flag", "There are others: ask again", required=True),
), schema="DocumentsDeleted")

STRUCTS = (DOCUMENT, DOCUMENTS, CLEARED)

NEEDED = replace(VALUE, required=True)

CALLS = (
    Call("document_list", "GET", "documents/{collection}", "Documents of a collection",
         "A page; an unknown collection is empty", "read",
         takes=(COLLECTION, FILTER,
                Field("order", "word", "By creation: the newest first, or the oldest", place="query",
                      words=("desc", "asc"), default="desc"),
                Field("limit", "number", "At most so many documents; fewer when they are large",
                      place="query", least=1, most=500, default=100),
                Field("before", "id", "Documents older than the one of this id", place="query",
                      most=NAME_MAX),
                Field("after", "id", "Documents newer than the one of this id", place="query",
                      most=NAME_MAX),
                Field("values", "flag", "0: without what is in them", place="query",
                      default=True)),
         gives=DOCUMENTS, errors=(404,), operation="listDocuments"),
    Call("document_create", "POST", "documents/{collection}", "Store a document under a new id",
         "Stored", "files",
         grows=True, takes=(COLLECTION, NEEDED, METADATA, *EXPIRES),
         gives=DOCUMENT, status=201, errors=(507,), operation="createDocument",
         body="DocumentCreate"),
    Call("document_clear", "DELETE", "documents/{collection}",
         "Remove the documents of a collection, at most 1000 at once", "Removed", "files",
         takes=(COLLECTION, FILTER),
         gives=CLEARED, errors=(507,), operation="deleteDocuments"),
    Call("document_get", "GET", "documents/{collection}/{id}", "Read a document", "The document",
         "read", takes=(COLLECTION, ID), gives=DOCUMENT, errors=(404,), operation="getDocument"),
    Call("document_put", "PUT", "documents/{collection}/{id}", "Store a document, or replace it",
         "Stored", "files",
         grows=True, takes=(COLLECTION, ID, NEEDED, METADATA, *EXPIRES, IF_MATCH, IF_NONE),
         gives=DOCUMENT, errors=(412, 507), operation="putDocument", body="DocumentPut"),
    Call("document_patch", "PATCH", "documents/{collection}/{id}",
         "Change a document by a JSON merge patch (RFC 7396)", "Changed", "files",
         grows=True, takes=(COLLECTION, ID,
                Field("value", "object", "A merge patch: what is null in it is removed, objects are "
                      "merged, all else replaces", most=DOCUMENT_MAX),
                Field("metadata", "object", "A merge patch of the metadata: null removes an entry",
                      most=LABELS_MAX), *EXPIRES, IF_MATCH),
         gives=DOCUMENT, errors=(404, 412, 507), operation="patchDocument", body="DocumentPatch"),
    Call("document_delete", "DELETE", "documents/{collection}/{id}", "Remove a document", "Removed",
         "files", takes=(COLLECTION, ID, IF_MATCH), errors=(404, 412, 507),
         operation="deleteDocument"),
)
