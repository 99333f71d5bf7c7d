-- concurrently
-- Tenants take turns in what is learned from their decisions.
create index concurrently if not exists template_lesson_by_tenant on ingestion.template_lesson
    (tenant_id, next_attempt_at);
drop index concurrently if exists ingestion.template_lesson_by_time;
