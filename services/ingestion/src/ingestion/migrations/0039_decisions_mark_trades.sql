-- A decision marks the trades that it names, whoever writes it: a process of an earlier release, during a rollout or after
-- one that was taken back, knows of no mark. The trades are of the ledger whose lock the writer holds.
create function ingestion.mark_decided_trades() returns trigger language plpgsql as $$
begin
    update ingestion.trade set is_decided = true
    where trade_id in (new.trade_id, new.other_trade_id) and not is_decided;
    return null;
end
$$;
create trigger trade_decision_marks_trades after insert on ingestion.trade_decision
    for each row execute function ingestion.mark_decided_trades();
