
create table "SCHEMA"."holdfast_leases" (
  resource text collate "C" primary key,
  token bigint not null,
  id text,
  owner text,
  metadata json,
  acquired_at bigint,
  expires_at bigint,
  span bigint,
  address text,
  ended_at bigint not null,
  line text[] not null default '{}',
  addresses text[] not null default '{}',
  reserved_id text,
  reserved_until bigint
) with (fillfactor = 50);

create table "SCHEMA"."holdfast_leases_meta" (
  version integer not null,
  floor bigint not null,
  pruned_at bigint not null,
  watch_until bigint not null,
  watch_channel text not null
);
insert into "SCHEMA"."holdfast_leases_meta" values (0, 0, 0, 0, 'holdfast_' || md5(random()::text || clock_timestamp()::text));

create function "SCHEMA"."holdfast_leases_is_sound"(r "SCHEMA"."holdfast_leases") returns boolean language sql immutable as $holdfast__$
  select cardinality(r.line) = cardinality(r.addresses)
    and array_position(r.line, null) is null and array_position(r.addresses, null) is null
    and (r.reserved_id is null) = (r.reserved_until is null)
    and num_nulls(r.id, r.owner, r.acquired_at, r.expires_at, r.span) in (0, 5)
    and coalesce(json_typeof(r.metadata) = 'object', true)
$holdfast__$;

create function "SCHEMA"."holdfast_leases_describe"(r "SCHEMA"."holdfast_leases", state text, at bigint) returns json language sql stable as $holdfast__$
  select json_build_object(
    'resource', r.resource, 'id', r.id, 'owner', r.owner, 'token', r.token, 'metadata', r.metadata,
    'acquiredAt', r.acquired_at / 1000,
    'expiresAt', least(r.expires_at, at + r.span) / 1000,
    'remaining', case state when 'held' then (least(r.expires_at, at + r.span) - at) / 1000 else 0 end,
    'state', state)
$holdfast__$;

create function "SCHEMA"."holdfast_leases_tell"(address text, payload text) returns void language sql as $holdfast__$
  select case when address <> '' then pg_notify(split_part(address, ' ', 1), left(payload, 1900)) end
$holdfast__$;

-- A change that is too long to be told makes the watcher read the row.
create function "SCHEMA"."holdfast_leases_announce"(channel text, change json) returns void language sql as $holdfast__$
  select case
    when octet_length(change::text) <= 7999 then pg_notify(channel, change::text)
    when change is not null then pg_notify(channel, json_build_object('resource', change->'resource')::text) end
$holdfast__$;


create function "SCHEMA"."holdfast_leases_is_dead"(address text) returns boolean language plpgsql as $holdfast__$
begin
  return split_part(address, ' ', 2) <> '' and not exists (
    select from pg_stat_get_activity(split_part(address, ' ', 2)::integer) a
    -- Null for the process of another role: then it must be enough that there is one of this number.
    where coalesce((extract(epoch from a.backend_start) * 1000000)::bigint = split_part(address, ' ', 3)::bigint, true));
end
$holdfast__$;

create function "SCHEMA"."holdfast_leases_leave"(r "SCHEMA"."holdfast_leases", _id text) returns "SCHEMA"."holdfast_leases" language plpgsql as $holdfast__$
declare
  place integer := array_position(r.line, _id);
begin
  if place is not null then
    r.line := r.line[:place - 1] || r.line[place + 1:];
    r.addresses := r.addresses[:place - 1] || r.addresses[place + 1:];
  end if;
  if r.reserved_id = _id then
    r.reserved_id := null;
    r.reserved_until := null;
  end if;
  return r;
end
$holdfast__$;

-- A waiter and, unless it polls, all others of its process lose their places and are told to ask again.
create function "SCHEMA"."holdfast_leases_dismiss"(r "SCHEMA"."holdfast_leases", _id text, _asker text) returns "SCHEMA"."holdfast_leases" language plpgsql as $holdfast__$
declare
  absent text := r.addresses[array_position(r.line, _id)];
  waiter text;
begin
  foreach waiter in array r.line loop
    if waiter = _id or (absent <> '' and absent = r.addresses[array_position(r.line, waiter)]) then
      r := "SCHEMA"."holdfast_leases_leave"(r, waiter);
      if waiter is distinct from _asker then
        perform "SCHEMA"."holdfast_leases_tell"(absent, 'wake 0 ' || waiter);
      end if;
    end if;
  end loop;
  return "SCHEMA"."holdfast_leases_leave"(r, _id);
end
$holdfast__$;

-- Brings the row up to this moment: ends a reservation that was not used, and makes the next one.
create function "SCHEMA"."holdfast_leases_settle"(r "SCHEMA"."holdfast_leases", at bigint, _asker text) returns "SCHEMA"."holdfast_leases" language plpgsql as $holdfast__$
begin
  -- A clock that stepped back must not lengthen anything.
  if r.expires_at > at + r.span then
    r.expires_at := at + r.span;
  end if;
  if r.reserved_until <= at then
    r := "SCHEMA"."holdfast_leases_dismiss"(r, r.reserved_id, _asker);
  elsif r.reserved_until > at + 1000000 then
    r.reserved_until := at + 1000000;
  end if;
  if r.reserved_id is not null or r.expires_at > at then
    return r;
  end if;
  while "SCHEMA"."holdfast_leases_is_dead"(r.addresses[1]) loop
    r := "SCHEMA"."holdfast_leases_dismiss"(r, r.line[1], _asker);
  end loop;
  if r.line = '{}' then
    return r;
  end if;
  r.reserved_id := r.line[1];
  r.reserved_until := at + 1000000;
  if r.line[1] is distinct from _asker then
    perform "SCHEMA"."holdfast_leases_tell"(r.addresses[1], 'wake 0 ' || r.line[1]);
  end if;
  if r.line[2] is distinct from _asker then
    perform "SCHEMA"."holdfast_leases_tell"(r.addresses[2], 'wake 1000 ' || r.line[2]);
  end if;
  return r;
end
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
    select resource from "SCHEMA"."holdfast_leases"
    where id is null and line = '{}' and reserved_id is null and greatest(ended_at, token) + 3600000000 <= at
    limit 1000 for update skip locked
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
create function "SCHEMA"."holdfast_leases_sweep"(_limit integer) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;
  swept json[] := '{}';
begin
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  update "SCHEMA"."holdfast_leases" set expires_at = at + span where resource in (
    select resource from "SCHEMA"."holdfast_leases" where expires_at > at + span for no key update skip locked);
  for r in
    select * from "SCHEMA"."holdfast_leases" t where t.expires_at <= at and "SCHEMA"."holdfast_leases_is_sound"(t)
    limit _limit for no key update skip locked
  loop
    ended := "SCHEMA"."holdfast_leases_describe"(r, 'expired', at);
    perform "SCHEMA"."holdfast_leases_tell"(r.address, 'lost ' || r.id);
    r.expires_at := null;
    r := "SCHEMA"."holdfast_leases_settle"(r, at, null);
    update "SCHEMA"."holdfast_leases" set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at,
      line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
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

-- These holders hear at this address from now on. Answers the ids of those that hold no more.
create function "SCHEMA"."holdfast_leases_hear"(_holders text, _address text) returns text language plpgsql as $holdfast__$
declare
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  commits text;
begin
  commits := set_config('synchronous_commit', 'off', true);
  update "SCHEMA"."holdfast_leases" t set address = _address
    from json_to_recordset(_holders::json) as h(resource text, id text)
    where t.resource = h.resource and t.id = h.id and t.address is distinct from _address;
  return (
    select coalesce(json_agg(h.id), '[]') from json_to_recordset(_holders::json) as h(resource text, id text)
    where not exists (select from "SCHEMA"."holdfast_leases" t where t.resource = h.resource and t.id = h.id and t.expires_at > at));
end
$holdfast__$;

-- Answers when the listening process began; the payload shows whether that one hears at all.
create function "SCHEMA"."holdfast_leases_probe"(_channel text, _payload text, _pid integer) returns text language plpgsql as $holdfast__$
begin
  perform pg_notify(_channel, _payload);
  return (
    select (extract(epoch from a.backend_start) * 1000000)::bigint from pg_stat_get_activity(_pid) a
    where a.pid = _pid);
end
$holdfast__$;

-- Changes are announced for a while from now on.
create function "SCHEMA"."holdfast_leases_watch"() returns text language plpgsql as $holdfast__$
declare
  m "SCHEMA"."holdfast_leases_meta";
  at bigint;
  commits text;
begin
  select * into m from "SCHEMA"."holdfast_leases_meta" for no key update;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  commits := set_config('synchronous_commit', 'off', true);
  update "SCHEMA"."holdfast_leases_meta" set watch_until = at + 30000000;
  return json_build_object('channel', m.watch_channel, 'lapsed', m.watch_until <= at);
end
$holdfast__$;


create function "SCHEMA"."holdfast_leases_acquire"(_resource text, _id text, _owner text, _ttl integer, _metadata text,
  _address text, _waits boolean, _replace bigint) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;
  live boolean;
  place integer;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not found then
    r := "SCHEMA"."holdfast_leases_make"(_resource);
  end if;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), E'"SCHEMA"."holdfast_leases"'
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  if r.line <> '{}' or r.reserved_id is not null or r.expires_at > at + r.span then
    r := "SCHEMA"."holdfast_leases_settle"(r, at, _id);
  end if;
  live := coalesce(at < r.expires_at, false);
  if live and r.id = _id then
    if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * 1000::bigint);
    update "SCHEMA"."holdfast_leases" t set
      expires_at = r.expires_at, span = r.expires_at - at, address = _address,
      line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, 'held', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
  elsif (live and r.token = _replace) or (not live and coalesce(r.reserved_id = _id, true)) then
    if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;
    if r.id is not null then
      ended := "SCHEMA"."holdfast_leases_describe"(r, case when live then 'taken-over' else 'expired' end, at);
      perform "SCHEMA"."holdfast_leases_tell"(r.address, 'lost ' || r.id);
    end if;
    if r.line <> '{}' then
      r := "SCHEMA"."holdfast_leases_leave"(r, _id);
      r.reserved_id := null;
      r.reserved_until := null;
    end if;
    update "SCHEMA"."holdfast_leases" t set
      token = greatest(r.token + 1, at), id = _id, owner = _owner, metadata = _metadata::json, acquired_at = at,
      expires_at = at + _ttl * 1000::bigint, span = _ttl * 1000::bigint, address = _address,
      line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, 'held', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
  else
    commits := set_config('synchronous_commit', 'off', true);
    place := array_position(r.line, _id);
    if _waits and place is null then
      r.line := r.line || _id;
      r.addresses := r.addresses || coalesce(_address, '');
      place := cardinality(r.line);
    elsif _waits then
      r.addresses[place] := coalesce(_address, '');
    end if;
    if r *<> was then
      update "SCHEMA"."holdfast_leases" set
        expires_at = r.expires_at,
        line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
      where resource = _resource;
    end if;
    return json_build_object(
      'granted', false,
      'holder', case when live then "SCHEMA"."holdfast_leases_describe"(r, 'held', at) end,
      'place', place - 1,
      'retryIn', ceil((case when live then r.expires_at else r.reserved_until end - at) / 1000.0)
        + coalesce(place - 1, 0) * 1000);
  end if;
  if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, ended), "SCHEMA"."holdfast_leases_announce"(channel, lease);
  end if;
  return json_build_object('granted', true, 'lease', lease, 'replaced', ended);
end
$holdfast__$;

create function "SCHEMA"."holdfast_leases_renew"(_resource text, _id text, _ttl integer) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), E'"SCHEMA"."holdfast_leases"'
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  if r.line <> '{}' or r.reserved_id is not null or r.expires_at > at + r.span then
    r := "SCHEMA"."holdfast_leases_settle"(r, at, null);
  end if;
  if r.id = _id and at < r.expires_at then
    if current_setting('synchronous_commit') = 'off' then
    commits := set_config('synchronous_commit', 'on', true);
  end if;
    r.expires_at := greatest(r.expires_at, at + _ttl * 1000::bigint);
    update "SCHEMA"."holdfast_leases" t set
      expires_at = r.expires_at, span = r.expires_at - at, address = r.address,
      line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
    where resource = _resource
    returning "SCHEMA"."holdfast_leases_describe"(t, 'held', at), (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into lease, channel;
    if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, lease);
  end if;
    return json_build_object('ok', true, 'lease', lease);
  end if;
  commits := set_config('synchronous_commit', 'off', true);
  if r *<> was then
      update "SCHEMA"."holdfast_leases" set
        expires_at = r.expires_at,
        line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
      where resource = _resource;
    end if;
  return json_build_object(
    'ok', false,
    'holder', case when at < r.expires_at then "SCHEMA"."holdfast_leases_describe"(r, 'held', at) end);
end
$holdfast__$;

create function "SCHEMA"."holdfast_leases_release"(_resource text, _id text, _token bigint) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  was "SCHEMA"."holdfast_leases";
  at bigint;
  lease json;
  ended json;
  channel text;
  commits text;
begin
  select * into r from "SCHEMA"."holdfast_leases" where resource = _resource for no key update;
  if not "SCHEMA"."holdfast_leases_is_sound"(r) then
    raise exception 'the row of % in % is corrupt', quote_literal(_resource), E'"SCHEMA"."holdfast_leases"'
      using errcode = 'data_corrupted', hint = 'Mend or delete it when nobody can hold the resource any more.';
  end if;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  was := r;
  if r.line <> '{}' or r.reserved_id is not null or r.expires_at > at + r.span then
    r := "SCHEMA"."holdfast_leases_settle"(r, at, _id);
  end if;
  -- That a lease has expired is told to one caller, ever.
  if coalesce(at < r.expires_at, true) then
    commits := set_config('synchronous_commit', 'off', true);
  end if;
  if r.id = _id or (r.id is not null and r.token = _token) then
    ended := "SCHEMA"."holdfast_leases_describe"(r, case when at < r.expires_at then 'released' else 'expired' end, at);
    if r.id is distinct from _id then
      perform "SCHEMA"."holdfast_leases_tell"(r.address, 'lost ' || r.id);
    end if;
    if r.line <> '{}' then
      r.expires_at := null;
      r := "SCHEMA"."holdfast_leases_settle"(r, at, _id);
    end if;
    update "SCHEMA"."holdfast_leases" set
      id = null, owner = null, metadata = null, acquired_at = null,
      expires_at = null, span = null, address = null, ended_at = at,
      line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
    where resource = r.resource
    returning (select watch_channel from "SCHEMA"."holdfast_leases_meta" where watch_until > at) into channel;
    if channel is not null then
    perform "SCHEMA"."holdfast_leases_announce"(channel, ended);
  end if;
    return json_build_object('ended', ended, 'holder', null);
  end if;
  if r.line <> '{}' then
    r := "SCHEMA"."holdfast_leases_settle"("SCHEMA"."holdfast_leases_leave"(r, _id), at, _id);
  end if;
  if r *<> was then
      update "SCHEMA"."holdfast_leases" set
        expires_at = r.expires_at,
        line = r.line, addresses = r.addresses,
      reserved_id = r.reserved_id, reserved_until = r.reserved_until
      where resource = _resource;
    end if;
  return json_build_object(
    'ended', null,
    'holder', case when at < r.expires_at then "SCHEMA"."holdfast_leases_describe"(r, 'held', at) end);
end
$holdfast__$;


create function "SCHEMA"."holdfast_leases_read"(_resources text) returns text language plpgsql as $holdfast__$
declare
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
begin
  return (
    select coalesce(json_agg((
      select "SCHEMA"."holdfast_leases_describe"(t, 'held', at) from "SCHEMA"."holdfast_leases" t
      where t.resource = wanted.name and t.expires_at > at and "SCHEMA"."holdfast_leases_is_sound"(t)
    ) order by wanted.place), '[]')
    from json_array_elements_text(_resources::json) with ordinality as wanted(name, place));
end
$holdfast__$;

create function "SCHEMA"."holdfast_leases_list"(_prefix text, _after text, _limit integer) returns text language plpgsql as $holdfast__$
declare
  r "SCHEMA"."holdfast_leases";
  at bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  listed json[] := '{}';
begin
  for r in
    select * from "SCHEMA"."holdfast_leases" t
    where t.resource >= _prefix and t.resource > _after and t.expires_at > at and "SCHEMA"."holdfast_leases_is_sound"(t)
    order by t.resource
  loop
    exit when cardinality(listed) = _limit or not starts_with(r.resource, _prefix);
    listed := listed || "SCHEMA"."holdfast_leases_describe"(r, 'held', at);
  end loop;
  return to_json(listed);
end
$holdfast__$;

update "SCHEMA"."holdfast_leases_meta" set version = 1;
