-- Which mail of a doc source may carry a document at all; carried in `doc-sources`, obeyed by sync-engine.
alter table subscription_manager.doc_source
    -- sender_allow and sender_deny (addresses and domains), strictness (lenient or strict); left out: lenient, no lists
    add column filter jsonb not null default '{}';
