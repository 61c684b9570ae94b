/**
 * The rules as SQL. Every statement locks the row first and then reads the clock, once. `now()` would be the start
 * of the transaction, before it waited for the row, and with two clock readings a decision could contradict itself.
 */
import { identifier, literal } from '../clients/sql-text.ts'
import { type JobFields, quoted, type Statuses } from './naming.ts'
import type { Operation } from './request-jobs.ts'

/** In the text of the error that refuses to complete a job. */
export const LOCK_LOST = 'holdfast: the lock was lost of the job '

/** Their answers have the columns of `AnswerRow`. */
export type JobQueries = Readonly<Record<'create' | 'add columns' | 'add index' | Operation, string>>

/** Only those with `-kept`, and `sweep`, need the columns of results that are kept. */
export function jobQueries(table: string, columns: JobFields, statuses: Statuses): JobQueries {
  const sql = jobSql(table, columns, statuses)
  return { ...schemaQueries(sql), ...acquireQueries(sql), ...lockQueries(sql), ...outcomeQueries(sql) }
}

/** The names and the parts that several queries share. */
function jobSql(table: string, columns: JobFields, statuses: Statuses) {
  const names = quoted(columns)
  const { status, result, error, attempts, fingerprint, keptUntil } = names
  const { lockOwner: owner, lockExpiresAt: expiresAt, lockHeartbeatAt: heartbeatAt, lockToken: token } = names
  const [pending, ready, failed] = [statuses.pending, statuses.ready, statuses.failed].map(literal)
  const final = `(${statuses.final.map(literal).join(', ')})`

  /** The row, and the time, as `timed`. */
  const timed = (more = '') => `
    locked as materialized (
      select id, ${status} as status, nullif(${owner}, '') as owner, ${expiresAt} as expires_at,
        coalesce(${token}, 0) as token, coalesce(${attempts}, 0) as attempts${more}
      from ${table} where id = $1 for update
    ), timed as materialized (select *, clock_timestamp() as now from locked)`
  const withFinished = `select *, coalesce(status in ${final}, false) as finished`
  return {
    table,
    status,
    result,
    error,
    attempts,
    fingerprint,
    keptUntil,
    owner,
    expiresAt,
    heartbeatAt,
    token,
    pending,
    ready,
    failed,
    final,
    timed,
    withFinished,
    /** The same as `job`. Its columns are always qualified, because the table may have any names. */
    seen: (more = '') => `${timed(more)}, job as materialized (${withFinished} from timed)`,
    outcome: `, ${result}::text as result, ${error} as error`,
    unlocked: `${owner} = null, ${expiresAt} = null, ${heartbeatAt} = null`,
    millis: (time: string) => `(extract(epoch from ${time}) * 1000)::float8`,
    untilTtl: `job.now + $3::float8 * interval '1 millisecond'`,
  }
}

type JobSql = ReturnType<typeof jobSql>

function schemaQueries({ table, status, result, error, attempts, ...names }: JobSql) {
  const { owner, expiresAt, heartbeatAt, token, fingerprint, keptUntil, pending, final } = names
  return {
    create: `create table if not exists ${table} (id text primary key, ${status} text, ${result} json,
      ${error} text, ${attempts} integer not null default 0, ${owner} text, ${expiresAt} timestamptz,
      ${heartbeatAt} timestamptz, ${token} bigint, ${fingerprint} text, ${keptUntil} timestamptz)`,

    'add columns': `alter table ${table} add column if not exists ${fingerprint} text,
      add column if not exists ${keptUntil} timestamptz`,

    'add index': `create index if not exists ${identifier(`${table.replaceAll('"', '')}_kept_until`)}
      on ${table} (${keptUntil}) where ${keptUntil} is not null`,

    add: `insert into ${table} (id, ${status}, ${attempts}) values ($1, ${pending}, 0) on conflict do nothing`,

    'add-kept': `insert into ${table} (id, ${status}, ${attempts}, ${fingerprint})
      values ($1, ${pending}, 0, $2::text) on conflict do nothing`,

    read: `select ${status} as status, case when ${status} in ${final} then 'finished' end as answer,
        ${result}::text as result, ${error} as error, coalesce(${attempts}, 0) as attempts
      from ${table} where id = $1`,

    // `$1` is not used. It needs a type all the same.
    sweep: `with over as materialized (
        select id from ${table} where ${keptUntil} <= clock_timestamp()
          and coalesce(${expiresAt} <= clock_timestamp(), true) limit $2::integer for update skip locked
      ), deleted as (
        delete from ${table} as target using over where target.id = over.id returning true
      )
      select count(*)::integer as swept from deleted where $1::text is not null`,
  }
}

function acquireQueries(sql: JobSql) {
  const { table, status, result, error, attempts, fingerprint, keptUntil } = sql
  const { owner, expiresAt, heartbeatAt, token, pending, failed, outcome, untilTtl, millis } = sql
  /** A job whose result is no longer kept is seen as one that begins anew. */
  const seenKept = `${sql.timed(`${outcome}, ${fingerprint} as fingerprint, ${keptUntil} as kept_until`)},
    begun as materialized (
      select id, token, now, is_over, case when not is_over then result end as result,
        case when not is_over then error end as error,
        case when not is_over then fingerprint end as fingerprint,
        case when is_over then ${pending} else status end as status,
        case when not is_over then owner end as owner,
        case when not is_over then expires_at end as expires_at,
        case when is_over then 0 else attempts end as attempts
      from timed, lateral (
        select coalesce(kept_until <= now, false) and not coalesce(expires_at > now, false) as is_over
      ) as verdict
    ), job as materialized (${sql.withFinished} from begun)`
  const nextToken = 'greatest(job.token + 1, floor(extract(epoch from job.now) * 1000000)::bigint)'
  const acquire = (
    job: string,
    verdicts: string,
    assignments: string,
  ) => `with ${job}, verdict as materialized (
        select job.*, case
            ${verdicts}
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
            then 'gave up after ' || job.attempts || ' attempts that did not finish' else job.error end
          ${assignments}
        from verdict as job
        where target.id = job.id and job.answer in ('again', 'granted', 'too_many_attempts')
        returning target.${token} as token, target.${attempts} as attempts, target.${expiresAt} as expires_at
      )
      select job.answer, written.token::float8 as token, coalesce(written.attempts, job.attempts) as attempts,
        ${millis('written.expires_at')} as expires,
        ${millis('coalesce(written.expires_at, job.expires_at) - job.now')} as remaining,
        job.status, job.result, job.error
      from verdict as job left join written on true`

  return {
    acquire: acquire(sql.seen(outcome), '', ''),

    // A job that begins anew has no outcome. `$6`: for how many milliseconds the result is kept; null: for ever.
    'acquire-kept': acquire(
      seenKept,
      "when fingerprint <> $5::text then 'payload_mismatch'",
      `, ${result} = case when job.is_over then null else target.${result} end,
        ${fingerprint} = case when job.answer = 'too_many_attempts' then target.${fingerprint} else $5::text end,
        ${keptUntil} = case when job.answer = 'too_many_attempts' then target.${keptUntil}
          else greatest(job.expires_at, ${untilTtl}) + $6::float8 * interval '1 millisecond' end`,
    ),
  }
}

function lockQueries({ table, expiresAt, heartbeatAt, seen, unlocked, untilTtl, millis }: JobSql) {
  return {
    refresh: `with ${seen()}, extended as (
        update ${table} as target set ${expiresAt} = greatest(job.expires_at, ${untilTtl}),
          ${heartbeatAt} = job.now
        from job
        where target.id = job.id and job.owner = $2::text and job.expires_at > job.now and not job.finished
        returning target.${expiresAt} as expires_at
      )
      select ${millis('extended.expires_at')} as expires,
        ${millis('extended.expires_at - job.now')} as remaining
      from job left join extended on true`,

    release: `with ${seen()}, released as (
        update ${table} as target set ${unlocked} from job where target.id = job.id and job.owner = $2::text
        returning true
      )
      select case when exists (select from released) then 'done' end as answer from job`,
  }
}

function outcomeQueries(sql: JobSql) {
  const { table, status, result, error, keptUntil, owner, token, ready, failed, final, seen, unlocked } = sql
  const keptFromNow = `, ${keptUntil} = job.now + $7::float8 * interval '1 millisecond'`
  /** Writes the outcome of the live holder. */
  const written = (assignment: string) => `${seen()}, written as (
        update ${table} as target set ${unlocked}, ${result} = $5::text::json, ${error} = $6::text,
          ${status} = case when $4::text = 'failed' then ${failed} else ${ready} end${assignment}
        from job
        where target.id = job.id and job.owner = $2::text and job.token = $3::bigint
          and job.expires_at > job.now and not job.finished
        returning true
      )`
  // Our own earlier call finished it: anybody else leaves another token, or leaves our lock in the record.
  const finish = (assignment: string) => `with ${written(assignment)}
      select case when exists (select from written)
          or (job.finished and job.token = $3::bigint and job.owner is null) then 'done' end as answer
      from job`

  // An error ends the transaction, so that its effect cannot be committed even if the application ignores the answer.
  const complete = (assignment: string) => `with ${written(assignment)}
      select case when exists (select from written) then 'done'
          else ('${LOCK_LOST}' || coalesce(job.id::text, ''))::integer::text end as answer
      from (select) as always left join job on true`

  return {
    finish: finish(''),

    'finish-kept': finish(keptFromNow),

    complete: complete(''),

    'complete-kept': complete(keptFromNow),

    completed: `select case when ${status} in ${final} and ${token} = $2::bigint and nullif(${owner}, '') is null
        then 'done' end as answer from ${table} where id = $1`,
  }
}
