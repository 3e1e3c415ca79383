-- fair_acquire: takes a free fair lock for an owner whose turn it is, or says who holds it and puts the
-- owner's waiter into the line.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] epoch     string: commands of this client numbered below it are stale
-- KEYS[3] queue     list: who waits
-- KEYS[4] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[5] line      hash: what is owed, and who was told (fair)
-- KEYS[6] token     string: fencing counter; only when the lock has fencing
-- ARGV[1] owner     hash field: the client's id, ':', and what the client calls the owner
-- ARGV[2] lease     ms
-- ARGV[3] number    of this command; rises with every command of the client
-- ARGV[4] epoch     ms to remember `number` as the epoch; 0: do not
-- ARGV[5] ticket    of the waiter; '': it does not wait, and yields to all who do
-- ARGV[6] lined     1: Redis has confirmed that the ticket was in the line. If it is not there any more, it was
--                   dropped, and comes first
-- ARGV[7] wait      ms that each in the line adds to the scores of those behind
-- ARGV[8] channel   of the lock
-- ARGV[9] how       to publish (redisson)
--
-- Replies 1 granted, with fencing {1, token}; {0, ttl, holder, theirs} busy: ttl in ms, -1 without one, and without
-- a holder what is left to the head; holder '' while the lock is free for the head, theirs 1 if a thread of
-- Redisson is ahead; {-1} stale.
--
-- Twice: the second run finds the owner's field and grants again, with a higher token, or finds the ticket in the line.
-- Late: stale, once a later command has set the epoch.

local lock, epoch, queue, timeouts, line, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, ticket = ARGV[1], ARGV[5]

-- In most runs there is no key at all, and one EXISTS tells that. A key of another type fails here, before
-- anything is written.
local ttl, held, holder, waiting, lined, rw = -2, false, '', 0, false, false -- -2: no key
if redis.call('EXISTS', lock, epoch, queue) > 0 then
  ttl = redis.call('PTTL', lock)
  for i, field in ipairs(ttl ~= -2 and redis.call('HKEYS', lock) or {}) do
    holder = i == 1 and field or holder
    held = held or field == owner
    rw = rw or field == 'mode'
  end
  waiting = redis.call('LLEN', queue)
  lined = waiting > 0 and redis.call('ZSCORE', timeouts, ticket)
  local mark = redis.call('GET', epoch)
  if mark and tonumber(mark) > tonumber(ARGV[3]) then
    return {-1}
  end
end
if rw then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
if ARGV[4] ~= '0' then
  redis.call('SET', epoch, ARGV[3], 'PX', ARGV[4])
end

if not held then
  local dropped = ARGV[6] == '1' and not lined
  local head, left = false, 0
  if ttl == -2 and waiting > 0 then
    head, left = heads(queue, timeouts, line, ticket, ARGV[8], ARGV[9])
  end
  if ttl ~= -2 or head and head ~= ticket and not dropped then
    local until_ms = now_ms() + math.max(0, ttl)
    if dropped then
      rejoin(queue, timeouts, ticket, '', until_ms, ARGV[7])
    elseif ticket ~= '' and not lined then
      join(queue, timeouts, ticket, until_ms, ARGV[7])
    end
    local theirs = 0
    for _, element in ipairs(redis.call('LRANGE', queue, 0, 127)) do
      if element == ticket then
        break
      elseif not is_ticket(element) then
        theirs = 1
      end
    end
    return {0, ttl == -2 and left or ttl, holder, theirs}
  end
end

-- Redis does not roll a script back: what can fail comes before the HSET.
local issued = 0
if token then
  issued = raise(token, tonumber(redis.call('GET', token) or '0'))
end
redis.call('HSET', lock, owner, '1')
local expiry = redis.pcall('PEXPIRE', lock, ARGV[2])
if type(expiry) == 'table' then
  -- A lock without a TTL would be for ever (acquire).
  if redis.pcall('HDEL', lock, owner) ~= 1 and not held and redis.pcall('DEL', lock) ~= 1 then
    redis.call('SET', lock, '', 'PX', 1)
  end
  return expiry
end
if waiting > 0 or ARGV[6] == '1' then -- also if the line is gone: its scores have no TTL
  take(queue, timeouts, line, ticket)
end
return token and {1, issued} or 1
