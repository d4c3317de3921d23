//! Results: traces, fields, pictures, summaries.
