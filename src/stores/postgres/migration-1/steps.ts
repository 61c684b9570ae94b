import { literal, type Names } from '../names.ts'

/**
 * Steps that several functions share, on their variables `r`, `at` and `channel`. They are texts and not
 * functions, since a call that passes a row costs about as much as a statement.
 */
export function steps({ table, meta, fn }: Names) {
  return {
    checkRow: `if not ${fn('is_sound')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(r.resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;`,

    settle: `-- A clock that stepped back must not lengthen the lease.
  r.expires_at := least(r.expires_at, at + r.span);
  if r.reserved_id is not null or r.line <> '{}' then
    r := ${fn('settle')}(r, at, _id);
  end if;`,

    endLease: `r.id := null;
    r.owner := null;
    r.metadata := null;
    r.acquired_at := null;
    r.expires_at := null;
    r.span := null;
    r.address := null;
    r.ended_at := at;`,

    save: `update ${table} set
      token = r.token, id = r.id, owner = r.owner, metadata = r.metadata, acquired_at = r.acquired_at,
      expires_at = r.expires_at, span = r.span, address = r.address, ended_at = r.ended_at,
      line = r.line, addresses = r.addresses, reserved_id = r.reserved_id, reserved_until = r.reserved_until
    where resource = r.resource;`,

    /** After `save`, whose lock on the table a new watcher waits for: who missed that it watches has ended then. */
    announce: (...changes: readonly string[]) => `select watch_channel into channel
    from ${meta} where watch_until > at;
  if found then
    perform ${changes.map((change) => `${fn('announce')}(channel, ${change})`).join(', ')};
  end if;`,

    commitSafely: `if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;`,

    commitLazily: `perform set_config('synchronous_commit', 'off', true);`,
  }
}
