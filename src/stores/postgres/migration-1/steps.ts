import { literal, type Names } from '../names.ts'
import { CLOCK, MILLISECOND } from './time.ts'

/**
 * Steps that several functions share, on the variables below. They are texts and not functions, since a call that
 * passes a row costs about as much as a statement; for the same reason a row is written by one UPDATE, and not
 * field by field before it.
 */
export function steps({ table, meta, fn }: Names) {
  const line = `line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until`
  /** Read by the UPDATE, whose lock on the table a new watcher waits for: who did not know of it has ended then. */
  const watched = `(select watch_channel from ${meta} where watch_until > at)`

  return {
    variables: `r ${table};
  was ${table};
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;`,

    lock: `select * into r from ${table} where resource = _resource for no key update;`,

    /** `asker`, an SQL expression: who need not be woken, since it is here. */
    settle: (asker: '_id' | 'null') => `if not ${fn('is_sound')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := ${CLOCK};
  was := r;
  if r.line <> '{}' or r.reserved_id is not null or r.expires_at > at + r.span then
    r := ${fn('settle')}(r, at, ${asker});
  end if;`,

    grant: `update ${table} t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + _ttl * ${MILLISECOND}::bigint, span = _ttl * ${MILLISECOND}::bigint, address = _address,
      ${line}
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${watched} into lease, channel;`,

    /** `address` is an SQL expression. */
    extend: (address: string) => `r.expires_at := greatest(r.expires_at, at + _ttl * ${MILLISECOND}::bigint);
    update ${table} t set
      expires_at = r.expires_at, span = r.expires_at - at, address = ${address},
      ${line}
    where resource = _resource
    returning ${fn('describe')}(t, 'held', at), ${watched} into lease, channel;`,

    end: `update ${table} set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at,
      ${line}
    where resource = r.resource
    returning ${watched} into channel;`,

    saveLine: `if r *<> was then
      update ${table} set
        expires_at = r.expires_at,
        ${line}
      where resource = _resource;
    end if;`,

    announce: (...changes: readonly string[]) => `if channel is not null then
    perform ${changes.map((change) => `${fn('announce')}(channel, ${change})`).join(', ')};
  end if;`,

    commitSafely: `if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;`,

    commitLazily: `commits := set_config('synchronous_commit', 'off', true);`,
  }
}
