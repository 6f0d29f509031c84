//! The window of Hermes: searching the web and reading its pages.
//!
//! Everything that is fetched goes through one guarded client: an address is checked once and then connected to, so no
//! redirect and no second look-up leads to a place that is not public.
