-- rw: functions put before the scripts of the read-write lock.
--
-- layout fails if the key holds a lock of another kind: one without the field 'mode'. It returns the mode,
-- 'read' or 'write', and nil when the lock is free.
--
-- others returns any field of the hash that is an owner's.
--
-- alive returns for how many ms the reader lives that lives longest, and nil if none does. A reader lives as long
-- as one of its markers: the hash itself may outlive it, as others renew that. The markers are the keys that this
-- script cannot declare: only the hash has their names. While a slot is moved, a marker may have gone before
-- the hash; then PTTL fails, the reader counts as alive, and alive returns -1. Redisson has a marker for each hold,
-- Redlatch one for each reader.
--
-- register puts a client that found the lock busy into one registry, and out of the other one. It
-- returns the arrival and the rank, or nil and an error.
--
-- pass tells those who wait that the lock is free, or that readers may enter it again:
-- 1. After a write, all registered readers enter (the phase, a fifth of a writer's pause), and after them one writer.
-- 2. Otherwise the writer that has waited longest gets its turn, and if there is none the readers enter.
-- 3. If a writer waits during the phase, the barrier stands at the end of it: no further reader enters.
-- 4. A client that does not hear its message costs nothing, as in wake.
-- 5. Redisson's waiters get the first chance, as in wake. Redisson reads '01' as 1, which wakes all
--    of its threads, and '-0' as 0, which wakes one of each client. A thread that parks between the two
--    would miss the first.
-- Everything is pcall: the lock has been let go of, and nothing may fail any more.
--
-- phase reports whether the turn is the readers', 'r', and behind it ':' and the id of each client that was told and has not
-- read yet. come takes a client out of it. When all have come, the phase ends 3 ms later: a client may have
-- further readers, each with a lease of its own, whose commands follow. Without that each write would be followed by the
-- whole phase, also where reads are short. come returns whether others are still to come.
--
-- left is called when the field of a writer, or of a reader outside a write, has gone. It frees the lock if nobody is left,
-- also of readers that have died, turns a write into the reads that its owner has inside it, and cuts the TTL to that of
-- the reader that lives longest.

local barrier_ms, last_ms = 3000, 3

local function layout(lock)
  local mode = redis.call('HGET', lock, 'mode')
  if not mode and redis.call('EXISTS', lock) == 1 then
    error('WRONGTYPE the key holds a lock that is no read-write lock')
  end
  return mode or nil
end

local function is_reader(field)
  return field ~= 'mode' and (string.sub(field, -6) ~= ':write' or string.find(field, ':=reader:', 1, true) ~= nil)
end

local function others(lock)
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' then
      return field
    end
  end
  return ''
end

local function alive(lock, markers)
  local longest, unknown = nil, false
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if is_reader(field) then
      local holds = 1
      if not string.find(field, ':=reader:', 1, true) then
        holds = math.min(tonumber(redis.call('HGET', lock, field)) or 1, 1000)
      end
      for i = 1, holds do
        local left = redis.pcall('PTTL', markers .. field .. ':rwlock_timeout:' .. i)
        if type(left) == 'table' then
          unknown = true
        elseif left >= 0 then
          longest = math.max(longest or 0, left)
        end
      end
    end
  end
  if unknown then
    return -1
  end
  return longest
end

local function register(registry, other, client, since, lives)
  if since <= 0 then
    local now = redis.call('TIME')
    since = now[1] * 1000000 + now[2]
  end
  redis.call('ZADD', registry, 'NX', string.format('%.0f', since), client)
  local set = redis.pcall('PEXPIRE', registry, lives)
  if type(set) == 'table' then
    if redis.pcall('ZREM', registry, client) ~= 1 and redis.pcall('PTTL', registry) == -1 then
      redis.call('DEL', registry)
    end
    return nil, set
  end
  redis.call('ZREM', other, client)
  return tonumber(redis.call('ZSCORE', registry, client)), redis.call('ZRANK', registry, client)
end

local function keep(turn, for_whom, ms)
  if type(redis.pcall('GET', turn)) == 'table' then
    return false -- another program's key: waiters find the lock by their poll
  end
  redis.pcall('SET', turn, for_whom, 'PX', ms)
  return true
end

local function phase(woken)
  return woken and string.byte(woken) == 114 -- 'r'
end

local function come(turn, woken, client)
  local from, to = string.find(woken, ':' .. client, 1, true)
  if not from then
    return woken ~= 'r'
  end
  local rest = string.sub(woken, 1, from - 1) .. string.sub(woken, to + 1)
  if rest == 'r' then
    redis.pcall('SET', turn, rest, 'PX', last_ms)
  else
    redis.pcall('SET', turn, rest, 'KEEPTTL')
  end
  return rest ~= 'r'
end

local function tell_readers(turn, waiters, readers, barrier, channel, publish, pause, counted, yields)
  local all = redis.pcall('ZRANGE', readers, 0, 127) -- bounds one script; the rest polls
  if all.err or not all[1] then
    return false
  end
  local told = 'r'
  for _, client in ipairs(all) do
    redis.pcall('ZREM', readers, client)
    local n = redis.pcall(publish, channel .. ':' .. client, '0')
    if type(n) == 'number' and (n > 0 or not counted) then
      told = told .. ':' .. client
    end
  end
  local heard = told ~= 'r'
  if heard and not yields and keep(turn, told, math.floor(pause / 5)) then
    local writers = redis.pcall('ZCARD', waiters)
    if type(writers) == 'number' and writers > 0 then
      redis.pcall('SET', barrier, '*', 'PX', barrier_ms)
    end
  end
  return heard
end

local function tell_writer(turn, waiters, channel, publish, pause, counted, yields)
  for _ = 1, 128 do -- bounds one script; the rest is left to the next release
    local first = redis.pcall('ZPOPMIN', waiters)
    if first.err or not first[1] or not (yields or keep(turn, first[1], pause)) then
      return false
    end
    local heard = redis.pcall(publish, channel .. ':' .. first[1], '0')
    if type(heard) == 'number' and (heard > 0 or not counted) then
      return true
    end
    if not yields then
      redis.pcall('DEL', turn)
    end
    if type(heard) == 'table' then
      return false -- the user may not publish: waiters find the lock by their poll
    end
  end
  return false
end

local function pass(free, written, turn, waiters, readers, barrier, channel, how)
  local publish, pause, yield, counted = passing(how)
  local theirs = -1
  if counted then
    theirs, publish = redisson_waiters(channel, publish)
    counted = theirs >= 0
  end
  local yields = free and theirs > 0
  if yields then
    keep(turn, '*', yield)
  end
  local told = written and tell_readers(turn, waiters, readers, barrier, channel, publish, pause, counted, yields)
  told = told or free and tell_writer(turn, waiters, channel, publish, pause, counted, yields)
  if not told and not written then
    tell_readers(turn, waiters, readers, barrier, channel, publish, pause, counted, yields)
  end
  if written then
    redis.pcall(publish, channel, '01')
  end
  redis.pcall(publish, channel, '-0')
end

local function left(lock, mode, turn, waiters, readers, barrier, markers, channel, how)
  local longest = alive(lock, markers)
  if not longest then
    redis.call('DEL', lock) -- with the fields of readers that have died
    pass(true, mode == 'write', turn, waiters, readers, barrier, channel, how)
  elseif mode == 'write' then
    redis.call('HSET', lock, 'mode', 'read')
    pass(false, true, turn, waiters, readers, barrier, channel, how)
  elseif longest >= 0 and longest < redis.call('PTTL', lock) then
    redis.call('PEXPIRE', lock, longest) -- for nobody else it stands longer
  end
end
