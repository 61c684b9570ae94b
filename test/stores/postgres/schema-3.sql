do $do$
declare
  statement text;
  installed integer;
begin
  -- Read from the table: a lookup by name may be answered from a cache that is older than this turn.
  if not exists (select from pg_namespace where nspname = E'SCHEMA') then
    execute E'create schema "SCHEMA"';
  end if;
  -- Another node may have done it while this one waited for its turn, also a newer one.
  if to_regclass(E'"SCHEMA"."holdfast_leases_meta"') is not null then
    select max(version) into installed from "SCHEMA"."holdfast_leases_meta";
    if installed > 3 or (installed = 3 and to_regclass(E'"SCHEMA"."holdfast_leases"') is not null and to_regclass(E'"SCHEMA"."holdfast_leases_waiters"') is not null and to_regclass(E'"SCHEMA"."holdfast_leases_meta"') is not null
    and (select count(distinct proname) from pg_proc where pronamespace = to_regnamespace(E'"SCHEMA"')
      and proname = any (array[E'holdfast_leases_acquire', E'holdfast_leases_renew', E'holdfast_leases_release', E'holdfast_leases_abandon', E'holdfast_leases_sweep', E'holdfast_leases_hear', E'holdfast_leases_probe', E'holdfast_leases_watch', E'holdfast_leases_read', E'holdfast_leases_list', E'holdfast_leases_waiting', E'holdfast_leases_is_sound', E'holdfast_leases_describe', E'holdfast_leases_tell', E'holdfast_leases_announce', E'holdfast_leases_prune', E'holdfast_leases_make', E'holdfast_leases_is_dead', E'holdfast_leases_dismiss', E'holdfast_leases_settle', E'holdfast_leases_leave'])) = 21) then
      return;
    end if;
  end if;
  for statement in
    select 'drop function ' || oid::regprocedure from pg_proc
    where pronamespace = to_regnamespace(E'"SCHEMA"')
      and proname = any (array[E'holdfast_leases_is_sound', E'holdfast_leases_describe', E'holdfast_leases_tell', E'holdfast_leases_announce', E'holdfast_leases_prune', E'holdfast_leases_make', E'holdfast_leases_is_dead', E'holdfast_leases_dismiss', E'holdfast_leases_settle', E'holdfast_leases_leave'])
  loop
    execute statement;
  end loop;
  
  create table if not exists "SCHEMA"."holdfast_leases" (
    resource text collate "C" primary key,
    token bigint not null,
    id text,
    owner text,
    metadata json,
    acquired_at bigint,
    expires_at bigint,
    span bigint,
    address text,
    ended_at bigint not null
  ) with (fillfactor = 50);
  alter table "SCHEMA"."holdfast_leases" add column if not exists first_place bigint;
  alter table "SCHEMA"."holdfast_leases" add column if not exists last_place bigint not null default 0;

  create table if not exists "SCHEMA"."holdfast_leases_waiters" (
    resource text collate "C" not null,
    place bigint not null,
    id text not null,
    owner text not null,
    channel text not null,
    pid integer,
    started bigint,
    expires_at bigint,
    reserved_until bigint,
    primary key (resource, place),
    unique (resource, id),
    check (num_nulls(pid, started) in (0, 2) and (pid is null) = (expires_at is not null))
  ) with (fillfactor = 80);

  create table if not exists "SCHEMA"."holdfast_leases_meta" (
    version integer not null,
    floor bigint not null,
    pruned_at bigint not null,
    watch_until bigint not null,
    watch_channel text not null
  );
  alter table "SCHEMA"."holdfast_leases_meta" add column if not exists oldest integer;
  insert into "SCHEMA"."holdfast_leases_meta"
    select 0, coalesce(max(token), 0), 0, 0, 'holdfast_' || md5(random()::text || clock_timestamp()::text)
    from "SCHEMA"."holdfast_leases" having not exists (select from "SCHEMA"."holdfast_leases_meta");
  
  if exists (
    select from pg_attribute where attrelid = E'"SCHEMA"."holdfast_leases"'::regclass and attname = 'line' and not attisdropped) then
    insert into "SCHEMA"."holdfast_leases_waiters"
      select t.resource, w.place, w.id, '', split_part(w.address, ' ', 1), a[1]::integer, a[2]::bigint,
        case when a is null then (extract(epoch from clock_timestamp()) * 1000000)::bigint + 1000000 end,
        case when w.id = t.reserved_id then t.reserved_until end
      from "SCHEMA"."holdfast_leases" t, unnest(t.line, t.addresses) with ordinality as w(id, address, place),
        lateral regexp_match(w.address, '^\S+ (\d{1,9}) (\d{1,18})$') a
      where w.id is not null and w.address is not null
      on conflict do nothing;
    update "SCHEMA"."holdfast_leases" set first_place = 1, last_place = cardinality(line) where line <> '{}';
    alter table "SCHEMA"."holdfast_leases" drop column line, drop column addresses, drop column reserved_id, drop column reserved_until;
  end if;
  for statement in
    select format('grant %s on %s to %s', acl.privilege_type, lacking,
      case acl.grantee when 0 then 'public' else acl.grantee::regrole::text end)
    from pg_class granted, aclexplode(granted.relacl) acl, unnest(array[E'"SCHEMA"."holdfast_leases"', E'"SCHEMA"."holdfast_leases_waiters"', E'"SCHEMA"."holdfast_leases_meta"']) lacking
    where granted.oid = any (array[E'"SCHEMA"."holdfast_leases"', E'"SCHEMA"."holdfast_leases_waiters"', E'"SCHEMA"."holdfast_leases_meta"']::regclass[])
      and not has_table_privilege(acl.grantee, lacking, acl.privilege_type)
  loop
    execute statement;
  end loop;
  execute E'
create function "SCHEMA"."holdfast_leases_is_sound"(r "SCHEMA"."holdfast_leases") returns boolean language sql immutable as $holdfast__$
  select num_nulls(r.id, r.owner, r.acquired_at, r.expires_at, r.span) in (0, 5)
    and coalesce(json_typeof(r.metadata) = ''object'', true)
$holdfast__$;

create function "SCHEMA"."holdfast_leases_describe"(r "SCHEMA"."holdfast_leases", state text, at bigint) returns json language sql stable as $holdfast__$
  select json_build_object(
    ''resource'', r.resource, ''id'', r.id, ''owner'', r.owner, ''token'', r.token, ''metadata'', r.metadata,
    ''acquiredAt'', r.acquired_at / 1000,
    ''expiresAt'', least(r.expires_at, at + r.span) / 1000,
    ''remaining'', case state when ''held'' then (least(r.expires_at, at + r.span) - at) / 1000 else 0 end,
    ''state'', state)
$holdfast__$;

-- A change that is too long to be told makes the watcher read the row.
create function "SCHEMA"."holdfast_leases_announce"(channel text, change json) returns void language sql as $holdfast__$
  select case
    when coalesce(channel, '''') = '''' then null
    when octet_length(change::text) <= 7999 then pg_notify(channel, change::text)
    when change is not null then pg_notify(channel, json_build_object(''resource'', change->''resource'')::text) end
$holdfast__$;

-- Drops rows that nobody needs. Their tokens must not be given again: the floor rises in the same transaction.
create function "SCHEMA"."holdfast_leases_prune"(at bigint) returns void language plpgsql as $holdfast__$
declare
  highest bigint;
  dropped integer;
begin
  perform from "SCHEMA"."holdfast_leases_meta" for update skip locked;
  if not found then
    return;
  end if;
  with doomed as (
    select resource from "SCHEMA"."holdfast_leases" t
    where id is null and greatest(ended_at, token) + 3600000000 <= at and not exists (
      select from "SCHEMA"."holdfast_leases_waiters" w where w.resource = t.resource
        and coalesce(w.expires_at > at, not "SCHEMA"."holdfast_leases_is_dead"(pid, started)))
    limit 1000 for update skip locked
  ), dead as (
    delete from "SCHEMA"."holdfast_leases_waiters" w using doomed where w.resource = doomed.resource
  ), gone as (
    delete from "SCHEMA"."holdfast_leases" t using doomed where t.resource = doomed.resource returning t.token
  )
  select max(token), count(*) into highest, dropped from gone;
  update "SCHEMA"."holdfast_leases_meta" set
    floor = greatest(floor, highest),
    pruned_at = case when dropped < 1000 then at else pruned_at end;
end
$holdfast__$;

-- Only here the table grows, so here it is pruned, and no sweeper is needed for that.
create function "SCHEMA"."holdfast_leases_make"(_resource text) returns "SCHEMA"."holdfast_leases" language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  m "SCHEMA"."holdfast_leases_meta";
begin
  loop
    insert into "SCHEMA"."holdfast_leases" (resource, token, ended_at) values (_resource, 0, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
      on conflict do nothing returning * into r;
    if found then
      -- Those who waited when somebody deleted an earlier row.
      delete from "SCHEMA"."holdfast_leases_waiters" where resource = _resource;
      -- After the insertion, which waits for a deletion of the same resource that raises the floor.
      select * into m from "SCHEMA"."holdfast_leases_meta";
      if m.pruned_at + 600000000 < r.ended_at or m.pruned_at > r.ended_at then
        perform "SCHEMA"."holdfast_leases_prune"(r.ended_at);
      end if;
      r.token := m.floor;
      return r;
    end if;
    select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
    if found then
      return r;
    end if;
  end loop;
end
$holdfast__$;

-- Never waits for a lock, so that it may hold several.
create or replace function "SCHEMA"."holdfast_leases_sweep"(_limit integer) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  head "SCHEMA"."holdfast_leases_waiters";
  at bigint;
  ended json;
  channel text;
  swept json[] := ''{}'';
begin
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  update "SCHEMA"."holdfast_leases" set expires_at = at + span where resource in (
    select resource from "SCHEMA"."holdfast_leases" where expires_at > at + span for no key update skip locked);
  for r in
    select * from "SCHEMA"."holdfast_leases" t where t.expires_at <= at and "SCHEMA"."holdfast_leases_is_sound"(t)
    limit _limit for no key update skip locked
  loop
    ended := "SCHEMA"."holdfast_leases_describe"(r, ''expired'', at);
    perform "SCHEMA"."holdfast_leases_announce"(split_part(r.address, '' '', 1), json_build_object(''lost'', r.id));
    if r.first_place is not null then
      head := "SCHEMA"."holdfast_leases_settle"(r.resource, r.first_place, true, at, null);
      r.first_place := head.place;
    end if;
    update "SCHEMA"."holdfast_leases" set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at, first_place = r.first_place
    where resource = r.resource
    returning (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into channel;
    if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, ended);
  end if;
    swept := swept || ended;
  end loop;
  perform "SCHEMA"."holdfast_leases_prune"(at);
  return to_json(swept);
end
$holdfast__$;

-- These holders are told at this address from now on. Answers the ids of those that hold no more.
create or replace function "SCHEMA"."holdfast_leases_hear"(_holders text, _address text) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  commits text;
begin
  commits := set_config(''synchronous_commit'', ''off'', true);
  update "SCHEMA"."holdfast_leases" t set address = _address
    from json_to_recordset(_holders::json) as h(resource text, id text)
    where t.resource = h.resource and t.id = h.id and t.address is distinct from _address;
  return (
    select coalesce(json_agg(h.id), ''[]'') from json_to_recordset(_holders::json) as h(resource text, id text)
    where not exists (select from "SCHEMA"."holdfast_leases" t where t.resource = h.resource and t.id = h.id and t.expires_at > at));
end
$holdfast__$;

-- Answers when the listening process began; the payload shows whether that one hears at all.
create or replace function "SCHEMA"."holdfast_leases_probe"(_channel text, _payload text, _pid integer) returns text
  language plpgsql as $holdfast__$
begin
  perform pg_notify(_channel, _payload);
  return (
    select (extract(epoch from a.backend_start) * 1000000)::bigint from pg_stat_get_activity(_pid) a
    where a.pid = _pid);
end
$holdfast__$;

-- Changes are announced for a while from now on.
create or replace function "SCHEMA"."holdfast_leases_watch"() returns text language plpgsql as $holdfast__$
declare
  m "SCHEMA"."holdfast_leases_meta";
  at bigint;
  commits text;
begin
  select * into m from "SCHEMA"."holdfast_leases_meta" for no key update;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  commits := set_config(''synchronous_commit'', ''off'', true);
  update "SCHEMA"."holdfast_leases_meta" set watch_until = at + 30000000;
  return json_build_object(''channel'', m.watch_channel, ''lapsed'', m.watch_until <= at);
end
$holdfast__$;


-- The listening connection of the waiter is gone, so its process is. Another process may have got the same pid.
create function "SCHEMA"."holdfast_leases_is_dead"(_pid integer, _started bigint) returns boolean language sql as $holdfast__$
  select _pid is not null and not exists (
    select from pg_stat_get_activity(_pid) a
    -- Null for the process of another role: then it must be enough that there is one of this number.
    where coalesce((extract(epoch from a.backend_start) * 1000000)::bigint = _started, true))
$holdfast__$;

create function "SCHEMA"."holdfast_leases_tell"(w "SCHEMA"."holdfast_leases_waiters", _in numeric) returns void language sql as $holdfast__$
  select "SCHEMA"."holdfast_leases_announce"(nullif(w.channel, ''''), json_build_object(''wake'', _in, ''resource'', w.resource, ''id'', w.id))
$holdfast__$;

-- A waiter missed its turn. It and all others of its process lose their places, and are told to ask again.
create function "SCHEMA"."holdfast_leases_dismiss"(absent "SCHEMA"."holdfast_leases_waiters", _asker text) returns void language plpgsql as $holdfast__$
declare
  w "SCHEMA"."holdfast_leases_waiters";
begin
  for w in
    delete from "SCHEMA"."holdfast_leases_waiters" where resource = absent.resource
      and (place = absent.place or (channel = absent.channel and channel <> '''')) returning *
  loop
    if w.id is distinct from _asker then
      perform "SCHEMA"."holdfast_leases_tell"(w, 0);
    end if;
  end loop;
end
$holdfast__$;

-- Brings the queue up to this moment: ends a reservation that was not used, and makes the next one if the resource
-- is free. Returns the first waiter, which has the reservation. ''_asker'' need not be told, because it is the caller.
create function "SCHEMA"."holdfast_leases_settle"(_resource text, _first bigint, _free boolean, at bigint, _asker text)
  returns "SCHEMA"."holdfast_leases_waiters" language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  head "SCHEMA"."holdfast_leases_waiters";
  standby "SCHEMA"."holdfast_leases_waiters";
begin
  loop
    select * into head from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and place >= _first order by place limit 1;
    -- A clock that stepped back must not lengthen anything.
    if head.reserved_until > at + 1000000 then
      head.reserved_until := at + 1000000;
      update "SCHEMA"."holdfast_leases_waiters" set reserved_until = head.reserved_until where resource = _resource and place = head.place;
    end if;
    if head.reserved_until <= at then
      perform "SCHEMA"."holdfast_leases_dismiss"(head, _asker);
    elsif head.id is null or head.reserved_until is not null or not _free then
      return head;
    elsif head.expires_at <= at or "SCHEMA"."holdfast_leases_is_dead"(head.pid, head.started) then
      -- All that are dead leave together, wherever they are in the queue.
      delete from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and (expires_at <= at or (pid, started) in (
        select pid, started from (
          select distinct pid, started from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and pid is not null) connections
        where "SCHEMA"."holdfast_leases_is_dead"(pid, started)));
    else
      exit;
    end if;
  end loop;
  head.reserved_until := least(at + 1000000, head.expires_at);
  update "SCHEMA"."holdfast_leases_waiters" set reserved_until = head.reserved_until where resource = _resource and place = head.place;
  if head.id is distinct from _asker then
    perform "SCHEMA"."holdfast_leases_tell"(head, 0);
  end if;
  -- Those without a connection cannot be told, and ask in time anyway.
  select * into standby from (
    select * from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and place > head.place order by place limit 100
  ) w where pid is not null and not "SCHEMA"."holdfast_leases_is_dead"(pid, started) limit 1;
  if standby.id is distinct from _asker then
    perform "SCHEMA"."holdfast_leases_tell"(standby, ceil((head.reserved_until - at) / 1000.0));
  end if;
  return head;
end
$holdfast__$;

-- Returns the first place of the queue without this waiter; null if nobody is left. ''_first'' is that of the head.
create function "SCHEMA"."holdfast_leases_leave"(_resource text, _id text, _first bigint) returns bigint language plpgsql as $holdfast__$
declare
  left_place bigint;
begin
  delete from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and id = _id returning place into left_place;
  if left_place is distinct from _first then
    return _first;
  end if;
  return (select place from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and place > _first order by place limit 1);
end
$holdfast__$;


create or replace function "SCHEMA"."holdfast_leases_acquire"(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  head "SCHEMA"."holdfast_leases_waiters";
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
  mine "SCHEMA"."holdfast_leases_waiters";
  ahead bigint;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not found then
    r := "SCHEMA"."holdfast_leases_make"(_resource);
  end if;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception ''the row of % in % is corrupt'', quote_literal(_resource), E''"SCHEMA"."holdfast_leases"''
      using errcode = ''data_corrupted'', hint = ''Mend or delete it when nobody can hold the resource any more.'';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);
  if r.first_place is not null then
    head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if live and r.id = _id then
    if current_setting(''synchronous_commit'') = ''off'' then
    commits := set_config(''synchronous_commit'', ''on'', true);
  end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * 1000::bigint);
    update "SCHEMA"."holdfast_leases" t set
      expires_at = r.expires_at, span = r.expires_at - at, address = _address, first_place = r.first_place
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, ''held'', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
  elsif (live and r.token = _replace) or (not live and coalesce(head.id = _id, true)) then
    if current_setting(''synchronous_commit'') = ''off'' then
    commits := set_config(''synchronous_commit'', ''on'', true);
  end if;
    if r.id is not null then
      ended := "SCHEMA"."holdfast_leases_describe"(r, case when live then ''taken-over'' else ''expired'' end, at);
      perform "SCHEMA"."holdfast_leases_announce"(split_part(r.address, '' '', 1), json_build_object(''lost'', r.id));
    end if;
    if head.id is not null then
      if head.id <> _id and head.reserved_until is not null then
        update "SCHEMA"."holdfast_leases_waiters" set reserved_until = null where resource = _resource and place = head.place;
      end if;
      r.first_place := "SCHEMA"."holdfast_leases_leave"(_resource, _id, head.place);
    end if;
    update "SCHEMA"."holdfast_leases" t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + _ttl * 1000::bigint, span = _ttl * 1000::bigint, address = _address, first_place = r.first_place
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, ''held'', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
  else
    commits := set_config(''synchronous_commit'', ''off'', true);
    if r.first_place is not null then
      select * into mine from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and id = _id;
    end if;
    if _waits then
      mine.channel := coalesce(split_part(_address, '' '', 1), '''');
      mine.pid := nullif(split_part(_address, '' '', 2), '''');
      mine.started := nullif(split_part(_address, '' '', 3), '''');
      mine.expires_at := case when mine.pid is null then at + 1000000 end;
      if mine.place is null then
        r.last_place := r.last_place + 1;
        r.first_place := coalesce(r.first_place, r.last_place);
        mine.place := r.last_place;
        insert into "SCHEMA"."holdfast_leases_waiters" values (_resource, mine.place, _id, _owner, mine.channel, mine.pid, mine.started,
          mine.expires_at);
      else
        update "SCHEMA"."holdfast_leases_waiters" w
          set channel = mine.channel, pid = mine.pid, started = mine.started, expires_at = mine.expires_at
          where resource = _resource and place = mine.place and (w.channel, w.pid, w.started, w.expires_at)
            is distinct from (mine.channel, mine.pid, mine.started, mine.expires_at);
      end if;
    end if;
    if mine.place is not null then
      select count(*) into ahead from (
        select from "SCHEMA"."holdfast_leases_waiters" where resource = _resource and place >= r.first_place and place < mine.place
        limit 100) w;
      if ahead = 100 then
        ahead := mine.place - r.first_place;
      end if;
    end if;
    if r *<> was then
      update "SCHEMA"."holdfast_leases" set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;
    return json_build_object(
      ''granted'', false,
      ''holders'', case when live then json_build_array("SCHEMA"."holdfast_leases_describe"(r, ''held'', at)) else ''[]'' end,
      ''place'', ahead,
      ''retryIn'', ceil((case when live then r.expires_at else head.reserved_until end - at) / 1000.0)
        + coalesce(ahead, 0) * 1000);
  end if;
  if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, ended), "SCHEMA"."holdfast_leases_announce"(channel, lease);
  end if;
  return json_build_object(''granted'', true, ''lease'', lease, ''replaced'', ended);
end
$holdfast__$;

create or replace function "SCHEMA"."holdfast_leases_renew"(_resource text, _id text, _ttl integer) returns text
  language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  head "SCHEMA"."holdfast_leases_waiters";
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception ''the row of % in % is corrupt'', quote_literal(_resource), E''"SCHEMA"."holdfast_leases"''
      using errcode = ''data_corrupted'', hint = ''Mend or delete it when nobody can hold the resource any more.'';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);
  if r.first_place is not null then
    head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, null);
    r.first_place := head.place;
  end if;
  if live and r.id = _id then
    if current_setting(''synchronous_commit'') = ''off'' then
    commits := set_config(''synchronous_commit'', ''on'', true);
  end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * 1000::bigint);
    update "SCHEMA"."holdfast_leases" t set
      expires_at = r.expires_at, span = r.expires_at - at, address = r.address, first_place = r.first_place
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, ''held'', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
    if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, lease);
  end if;
    return json_build_object(''ok'', true, ''lease'', lease);
  end if;
  commits := set_config(''synchronous_commit'', ''off'', true);
  if r *<> was then
      update "SCHEMA"."holdfast_leases" set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;
  return json_build_object(''ok'', false, ''holders'', case when live then json_build_array("SCHEMA"."holdfast_leases_describe"(r, ''held'', at)) else ''[]'' end);
end
$holdfast__$;

create or replace function "SCHEMA"."holdfast_leases_release"(_resource text, _id text, _token bigint) returns text
  language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  head "SCHEMA"."holdfast_leases_waiters";
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception ''the row of % in % is corrupt'', quote_literal(_resource), E''"SCHEMA"."holdfast_leases"''
      using errcode = ''data_corrupted'', hint = ''Mend or delete it when nobody can hold the resource any more.'';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);
  -- That a lease has expired is told to one caller, ever.
  if live or r.id is null then
    commits := set_config(''synchronous_commit'', ''off'', true);
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := "SCHEMA"."holdfast_leases_describe"(r, case when live then ''released'' else ''expired'' end, at);
    if r.id is distinct from _id then
      perform "SCHEMA"."holdfast_leases_announce"(split_part(r.address, '' '', 1), json_build_object(''lost'', r.id));
    end if;
    if r.first_place is not null then
    head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, true, at, _id);
    r.first_place := head.place;
  end if;
    update "SCHEMA"."holdfast_leases" set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at, first_place = r.first_place
    where resource = r.resource
    returning (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into channel;
    if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, ended);
  end if;
    return json_build_object(''ended'', ended, ''holders'', ''[]''::json);
  end if;
  if r.first_place is not null then
    head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if head.id is not null then
    r.first_place := "SCHEMA"."holdfast_leases_leave"(_resource, _id, head.place);
    if r.first_place is not null then
      head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, _id);
      r.first_place := head.place;
    end if;
  end if;
  if r *<> was then
      update "SCHEMA"."holdfast_leases" set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;
  return json_build_object(''ended'', null, ''holders'', case when live then json_build_array("SCHEMA"."holdfast_leases_describe"(r, ''held'', at)) else ''[]'' end);
end
$holdfast__$;

-- Gives back a place in the queue whose waiter has gone. Unlike a release it never ends a lease.
create or replace function "SCHEMA"."holdfast_leases_abandon"(_resource text, _id text) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  head "SCHEMA"."holdfast_leases_waiters";
  at bigint;
  live boolean;
  lease json;
  ended json;
  channel text;
  commits text;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception ''the row of % in % is corrupt'', quote_literal(_resource), E''"SCHEMA"."holdfast_leases"''
      using errcode = ''data_corrupted'', hint = ''Mend or delete it when nobody can hold the resource any more.'';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  live := coalesce(at < r.expires_at, false);
  commits := set_config(''synchronous_commit'', ''off'', true);
  if r.first_place is not null then
    head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, _id);
    r.first_place := head.place;
  end if;
  if head.id is not null then
    r.first_place := "SCHEMA"."holdfast_leases_leave"(_resource, _id, head.place);
    if r.first_place is not null then
      head := "SCHEMA"."holdfast_leases_settle"(_resource, r.first_place, not live, at, _id);
      r.first_place := head.place;
    end if;
  end if;
  if r *<> was then
      update "SCHEMA"."holdfast_leases" set expires_at = r.expires_at, first_place = r.first_place, last_place = r.last_place
      where resource = _resource;
    end if;
  return null;
end
$holdfast__$;


create or replace function "SCHEMA"."holdfast_leases_read"(_resources text) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
begin
  return (
    select coalesce(json_agg((
      select coalesce(json_agg("SCHEMA"."holdfast_leases_describe"(t, ''held'', at)), ''[]'') from "SCHEMA"."holdfast_leases" t
      where t.resource = wanted.name and t.expires_at > at and "SCHEMA"."holdfast_leases_is_sound"(t)
    ) order by wanted.place), ''[]'')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, place));
end
$holdfast__$;

create or replace function "SCHEMA"."holdfast_leases_list"(_prefix text, _after text, _limit integer) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  listed json[] := ''{}'';
begin
  for r in
    select * from "SCHEMA"."holdfast_leases" t
    where t.resource >= _prefix and t.resource > _after and t.expires_at > at and "SCHEMA"."holdfast_leases_is_sound"(t)
    order by t.resource
  loop
    exit when cardinality(listed) = _limit or not starts_with(r.resource, _prefix);
    listed := listed || "SCHEMA"."holdfast_leases_describe"(r, ''held'', at);
  end loop;
  return to_json(listed);
end
$holdfast__$;

-- Waiters of dead processes, and those that have not asked in time, keep their rows until it is their turn.
create or replace function "SCHEMA"."holdfast_leases_waiting"(_resources text, _limit integer) returns text language plpgsql set random_page_cost = 0 as $holdfast__$
declare
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
begin
  return (
    select coalesce(json_agg((
      select json_build_object(''count'', count(*), ''first'', coalesce(json_agg(
        json_build_object(''id'', w.id, ''owner'', w.owner, ''place'', w.ahead) order by w.ahead)
        filter (where w.ahead < _limit), ''[]''))
      from (
        select id, owner, row_number() over (order by place) - 1 as ahead from "SCHEMA"."holdfast_leases_waiters"
        where resource = wanted.name and coalesce(expires_at > at, not "SCHEMA"."holdfast_leases_is_dead"(pid, started))
      ) w
    ) order by wanted.nth), ''[]'')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, nth));
end
$holdfast__$;
';
  update "SCHEMA"."holdfast_leases_meta" set version = 3, oldest = 2;
end$do$;
