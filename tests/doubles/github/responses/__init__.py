"""The JSON documents of GitHub's responses. They have all fields that GitHub's own description requires."""

from tests.doubles.github.responses.git import (
    blob_document,
    commit_document,
    git_commit_document,
    ref_document,
    short_blob_document,
    tree_document,
)
from tests.doubles.github.responses.issues import comment_document, issue_document, label_document
from tests.doubles.github.responses.pulls import change_document, pull_document, whole_pull_document
from tests.doubles.github.responses.repositories import Document, user_document
from tests.doubles.github.responses.runs import annotation_document, artifact_document, job_document, run_document

__all__ = [
    "Document",
    "annotation_document",
    "artifact_document",
    "blob_document",
    "change_document",
    "comment_document",
    "commit_document",
    "git_commit_document",
    "issue_document",
    "job_document",
    "label_document",
    "pull_document",
    "ref_document",
    "run_document",
    "short_blob_document",
    "tree_document",
    "user_document",
    "whole_pull_document",
]
