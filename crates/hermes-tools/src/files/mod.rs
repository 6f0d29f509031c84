//! Files: reading, writing, patching and searching, as plain functions over paths that were checked.
