-- The table of the contract with the outside job, exactly as that has it: a job whose statements name the constraint, rely
-- on a default or insert a null finds what it expects. Only the table that 0001 made is changed, which its constraint
-- tells; one that is older than us is the outside job's own.
do $$
begin
    if not exists (
        select from pg_constraint where conrelid = 'bo_airflow.email_ingestion_state'::regclass
            and conname = 'email_ingestion_state_app_name_message_id_key')
    then
        return;
    end if;
    update bo_airflow.email_ingestion_state set mailbox_email = '' where mailbox_email is null;
    alter table bo_airflow.email_ingestion_state
        drop constraint email_ingestion_state_app_name_message_id_key,
        drop constraint email_ingestion_state_status_check,
        add constraint unique_app_message unique (app_name, message_id),
        alter column id drop identity,
        alter column app_name type varchar(100),
        alter column message_id type varchar(255),
        alter column mailbox_email type varchar(255),
        alter column mailbox_email set not null,
        alter column sender_email type varchar(255),
        alter column status type varchar(20),
        alter column status set default 'processing',
        alter column archive_gcs_paths drop not null,
        alter column archive_gcs_paths drop default,
        alter column worker_id type varchar(255);
    update bo_airflow.email_ingestion_state set archive_gcs_paths = null where archive_gcs_paths = '[]';
    -- What `bigserial` makes: an insert needs the right to use it, other than with an identity.
    create sequence bo_airflow.email_ingestion_state_id_seq owned by bo_airflow.email_ingestion_state.id;
    alter table bo_airflow.email_ingestion_state
        alter column id set default nextval('bo_airflow.email_ingestion_state_id_seq');
    perform setval('bo_airflow.email_ingestion_state_id_seq', coalesce(max(id), 0) + 1, false)
        from bo_airflow.email_ingestion_state;
end $$;
