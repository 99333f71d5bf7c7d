-- Decisions that were written without a mark between 0036 and 0039: seldom any. By itself, so that no table is locked
-- meanwhile; where a trade is held too long it is run again.
update ingestion.trade set is_decided = true
where not is_decided and trade_id in (select trade_id from ingestion.trade_decision
                                      union select other_trade_id from ingestion.trade_decision);
