-- Decisions of earlier releases; by itself, so that the table is not locked meanwhile.
update ingestion.trade set is_decided = true
where trade_id in (select trade_id from ingestion.trade_decision
                   union select other_trade_id from ingestion.trade_decision);
