/**
 * The rules as SQL. Every statement locks the row first and then reads the clock, once. `now()` would be the start
 * of the transaction, before it waited for the row, and with two clock readings a decision could contradict itself.
 */
import { literal } from '../clients/sql-text.ts'
import { type JobFields, quoted, type Statuses } from './naming.ts'
import type { Operation } from './request-jobs.ts'

/** Their answers have the columns of `AnswerRow`. */
export type JobQueries = Readonly<Record<'create' | Operation, string>>

export function jobQueries(table: string, columns: JobFields, statuses: Statuses): JobQueries {
  const names = quoted(columns)
  const { status, result, error, attempts } = names
  const { lockOwner: owner, lockExpiresAt: expiresAt, lockHeartbeatAt: heartbeatAt, lockToken: token } = names
  const [pending, ready, failed] = [statuses.pending, statuses.ready, statuses.failed].map(literal)
  const final = `(${statuses.final.map(literal).join(', ')})`

  /** The row, and the time, as `job`. Its columns are always qualified, because the table may have any names. */
  const seen = `
    locked as materialized (
      select id, ${status} as status, nullif(${owner}, '') as owner, ${expiresAt} as expires_at,
        coalesce(${token}, 0) as token, coalesce(${attempts}, 0) as attempts
      from ${table} where id = $1 for update
    ), job as materialized (
      select *, clock_timestamp() as now, coalesce(status in ${final}, false) as finished from locked
    )`
  const unlocked = `${owner} = null, ${expiresAt} = null, ${heartbeatAt} = null`
  const millis = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`
  const untilTtl = `job.now + $3::float8 * interval '1 millisecond'`
  const nextToken = 'greatest(job.token + 1, floor(extract(epoch from job.now) * 1000000)::bigint)'

  return {
    create: `create table if not exists ${table} (id text primary key, ${status} text, ${result} json,
      ${error} text, ${attempts} integer not null default 0, ${owner} text, ${expiresAt} timestamptz,
      ${heartbeatAt} timestamptz, ${token} bigint)`,

    add: `insert into ${table} (id, ${status}, ${attempts}) values ($1, ${pending}, 0) on conflict do nothing`,

    acquire: `with ${seen}, verdict as materialized (
        select job.*, case
            when finished then 'already_finished'
            when owner = $2::text and expires_at > now then 'again'
            when owner is not null and expires_at > now then 'locked'
            when attempts >= $4::integer then 'too_many_attempts'
            else 'granted'
          end as answer
        from job
      ), written as (
        update ${table} as target set
          ${owner} = case when job.answer <> 'too_many_attempts' then $2::text end,
          ${heartbeatAt} = case when job.answer <> 'too_many_attempts' then job.now end,
          ${expiresAt} = case job.answer
            when 'granted' then ${untilTtl}
            when 'again' then greatest(job.expires_at, ${untilTtl})
          end,
          ${token} = case when job.answer = 'again' then job.token else ${nextToken} end,
          ${attempts} = job.attempts + case when job.answer = 'granted' then 1 else 0 end,
          ${status} = case when job.answer = 'too_many_attempts' then ${failed} else job.status end,
          ${error} = case when job.answer = 'too_many_attempts'
            then 'gave up after ' || job.attempts || ' attempts that did not finish' else target.${error} end
        from verdict as job
        where target.id = job.id and job.answer in ('again', 'granted', 'too_many_attempts')
        returning target.${token} as token, target.${attempts} as attempts, target.${expiresAt} as expires_at
      )
      select job.answer, written.token::float8 as token, written.attempts,
        ${millis('written.expires_at')} as expires,
        ${millis('coalesce(written.expires_at, job.expires_at) - job.now')} as remaining
      from verdict as job left join written on true`,

    refresh: `with ${seen}, extended as (
        update ${table} as target set ${expiresAt} = greatest(job.expires_at, ${untilTtl}),
          ${heartbeatAt} = job.now
        from job
        where target.id = job.id and job.owner = $2::text and job.expires_at > job.now and not job.finished
        returning target.${expiresAt} as expires_at
      )
      select ${millis('extended.expires_at')} as expires,
        ${millis('extended.expires_at - job.now')} as remaining
      from job left join extended on true`,

    // Our own earlier call finished it: anybody else leaves another token, or leaves our lock in the record.
    finish: `with ${seen}, written as (
        update ${table} as target set ${unlocked}, ${result} = $5::text::json, ${error} = $6::text,
          ${status} = case when $4::text = 'failed' then ${failed} else ${ready} end
        from job
        where target.id = job.id and job.owner = $2::text and job.token = $3::bigint
          and job.expires_at > job.now and not job.finished
        returning true
      )
      select case when exists (select from written)
          or (job.finished and job.token = $3::bigint and job.owner is null) then 'done' end as answer
      from job`,

    release: `with ${seen}, released as (
        update ${table} as target set ${unlocked} from job where target.id = job.id and job.owner = $2::text
        returning true
      )
      select case when exists (select from released) then 'done' end as answer from job`,

    read: `select ${status} as status, case when ${status} in ${final} then 'finished' end as answer,
        ${result}::text as result, ${error} as error, coalesce(${attempts}, 0) as attempts
      from ${table} where id = $1`,
  }
}
