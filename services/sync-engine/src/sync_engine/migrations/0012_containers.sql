-- Files in attached mails, archives and other containers are parts of their own.
alter table sync_engine.message_part
    add column via text[]; -- containers that were opened for it, from the outside in; null: none
