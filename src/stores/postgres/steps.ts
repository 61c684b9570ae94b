/**
 * Steps that several functions share, on the variables below. They are texts and not functions, because a call that
 * passes a row costs about as much as a statement. For the same reason one UPDATE writes a row, instead of
 * assignments to its fields and an UPDATE.
 */
import { literal } from '../../clients/sql-text.ts'
import { EXACT_PLACES } from '../options.ts'
import type { Names } from './names.ts'
import { CLOCK, PLACE_WITHOUT_CONNECTION } from './units.ts'

/**
 * Several calls may share a transaction. Then it waits for the disk if one of them must: the setting `holdfast.commit`
 * tells the others.
 */
export const commitSafely = `commits := set_config('holdfast.commit', 'safe', true);
  if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;`

export const commitLazily = `if current_setting('holdfast.commit', true) is distinct from 'safe' then
    commits := set_config('synchronous_commit', 'off', true);
  end if;`

/** The UPDATE reads it. A new watcher waits until the UPDATEs that did not see it have ended. */
export const isWatched = ({ meta }: Names) => `(select watch_channel from ${meta} where watch_until > at)`

export const announce = (fn: Names['fn'], ...changes: readonly string[]) => `if channel is not null then
    perform ${changes.map((change) => `${fn('announce')}(channel, ${change})`).join(', ')};
  end if;`

/** `row`: the variable with the lease that its holder has lost. */
export const tellLoss = (fn: Names['fn'], row: 'r' | 'l') =>
  `perform ${fn('announce')}(split_part(${row}.address, ' ', 1),
      json_build_object('lost', ${row}.id, 'token', ${row}.token));`

export function steps(names: Names) {
  const { table, waiters, fn } = names
  return {
    variables: `r ${table};
  was ${table};
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;`,

    lock: `select * into r from ${table} where resource = _resource for no key update;`,

    begin: `if not ${fn('is_whole')}(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), ${literal(table)}
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := ${CLOCK};
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);`,

    findWaiter: `if r.first_place is not null then
      select * into mine from ${waiters} where resource = _resource and id = _id;
    end if;`,

    /** The caller joins the queue if it wants to wait and is not in it. `ahead` is its place. */
    joinQueue: (share: 'null' | '_share') => `if _waits then
      mine.channel := coalesce(split_part(_address, ' ', 1), '');
      mine.pid := nullif(split_part(_address, ' ', 2), '');
      mine.started := nullif(split_part(_address, ' ', 3), '');
      mine.expires_at := case when mine.pid is null then at + ${PLACE_WITHOUT_CONNECTION} end;
      if mine.place is null then
        r.last_place := r.last_place + 1;
        r.first_place := coalesce(r.first_place, r.last_place);
        mine.place := r.last_place;
        insert into ${waiters} values (_resource, mine.place, _id, _owner, mine.channel, mine.pid, mine.started,
          mine.expires_at, null, ${share});
      else
        update ${waiters} w
          set channel = mine.channel, pid = mine.pid, started = mine.started, expires_at = mine.expires_at
          where resource = _resource and place = mine.place and (w.channel, w.pid, w.started, w.expires_at)
            is distinct from (mine.channel, mine.pid, mine.started, mine.expires_at);
      end if;
    end if;
    if mine.place is not null then
      select count(*) into ahead from (
        select from ${waiters} where resource = _resource and place >= r.first_place and place < mine.place
        limit ${EXACT_PLACES}) w;
      if ahead = ${EXACT_PLACES} then
        ahead := mine.place - r.first_place;
      end if;
    end if;`,
  }
}
