-- A browser that brings the provider's answer a second time is told what became of the first.
alter table subscription_manager.oauth_request
    -- whether the mailbox was connected, else the sentence that was shown; null: not known (yet)
    add column sealed_outcome text;
