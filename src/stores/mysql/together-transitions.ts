import type { Names } from './names.ts'
import { IS_LIVE, MANY } from './units.ts'

/**
 * Several requests in one transaction: all of them are granted, or nothing changes. `_asks` is a JSON array in the order
 * of the names, with texts as hexadecimal digits. All rows are locked in that order before the clock is read and the row
 * of the meta table is shared, so two of these never wait for each other, and none waits for a watcher with a row that
 * the watcher needs. None is granted while others wait for its resource.
 */
export function together({ table, holders, waiters, channels, messages, meta, procedure }: Names): string {
  return `(_asks longtext, _channel varbinary(64))
sql security invoker
begin
  declare _at, _token, _floor, _ttl, _share, _at_least, _lock_delay bigint;
  declare _watched, _has_rows, _is_refused boolean default false;
  declare _zone varchar(64) default @@session.time_zone;
  declare _resource, _id, _holder varbinary(512);
  declare _owner, _metadata mediumblob;
  declare _ask longtext;
  declare _n int default 0;
  set transaction isolation level read committed;
  begin
    declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
    start transaction;
    while _n < json_length(_asks) do
      insert into ${table} (resource, token, ended_at, last_place, has_rows, due_at)
        values (unhex(json_unquote(json_extract(_asks, concat('$[', _n, '].resource')))), 0, 0, 0, false, ${MANY})
        on duplicate key update last_place = last_place;
      set _n = _n + 1;
    end while;
    set session time_zone = '+00:00';
    set _at = timestampdiff(microsecond, '1970-01-01', sysdate(6));
    set session time_zone = _zone;
    select floor, watch_until > _at into _floor, _watched from ${meta} where one = 1 lock in share mode;
    if _floor is null then
      signal sqlstate '42S02' set mysql_errno = 1146, message_text = 'the meta table has lost its row';
    end if;
    set _n = 0;
    while _n < json_length(_asks) and not _is_refused do
      set _ask = json_extract(_asks, concat('$[', _n, ']'));
      set _resource = unhex(json_unquote(json_extract(_ask, '$.resource')));
      set _id = unhex(json_unquote(json_extract(_ask, '$.id')));
      set _owner = unhex(json_unquote(json_extract(_ask, '$.owner')));
      set _metadata = unhex(json_unquote(json_extract(_ask, '$.metadata')));
      set _ttl = json_extract(_ask, '$.ttl');
      set _share = json_extract(_ask, '$.share');
      set _at_least = json_extract(_ask, '$.atLeast');
      set _lock_delay = json_extract(_ask, '$.lockDelay');
      select token, has_rows, id into _token, _has_rows, _holder from ${table} where resource = _resource for update;
      if not _has_rows and _holder is null and _share is null and _at_least = 0 and _lock_delay = 0 then
        set _token = greatest(_token + 1, _floor + 1, _at);
        update ${table} set token = _token, id = _id, owner = _owner,
          metadata = _metadata, acquired_at = _at, expires_at = _at + _ttl, span = _ttl, channel = _channel,
          due_at = least(due_at, _at + _ttl) where resource = _resource;
        if _watched then
          insert into ${messages} (channel, sent_at, kind, resource, token, id, owner, metadata, share, acquired_at, expires_at, span)
            select c.channel, _at, 'held', resource, token, id, owner, metadata, null as share, acquired_at, expires_at, span
            from ${table} t join ${channels} c on c.watch_until > _at where resource = _resource;
        end if;
        select _resource as resource, concat_ws(' ', _at, _token) as granted;
      elseif exists (select 1 from ${waiters} where resource = _resource)
          and not exists (select 1 from ${holders} where resource = _resource and id = _id and ${IS_LIVE}) then
        set _is_refused = true;
      else
        call ${procedure('ask')}(_resource, _id, _owner, _ttl, _metadata, _channel, false, _share, _at_least,
          _lock_delay, null, _has_rows, _token, _floor, _at, _watched);
        set _is_refused = not exists (select 1 from ${holders} where resource = _resource and id = _id and ${IS_LIVE});
      end if;
      set _n = _n + 1;
    end while;
    if _is_refused then
      rollback and no chain no release;
      select 'refused' as outcome;
    else
      commit and no chain no release;
    end if;
  end;
end`
}
