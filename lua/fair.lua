-- fair: functions, put before the scripts of fair locks. They keep the line of those who wait, as Redisson
-- does:
--   queue     list: who waits, the first to come first
--   timeouts  sorted set: the same, each with the time in ms at which Redisson may drop it
--   line      hash, ours: `owed`, by how many places the scores of all are too high; `absent`, who was
--             told that it is its turn, and when
--
-- An element is the ticket of a Go waiter, `client:owner#number`, or a thread of Redisson, `client:thread`.
--
-- Redisson drops the head whose score has passed. The score of a newcomer is one wait after that of the last, or after
-- the end of the lease. Whoever goes has all behind it come nearer by one wait. Redisson changes all these scores at once.
-- Here they are owed, and paid every few seconds (refresh).

local function is_ticket(element)
  return string.find(element, '#%d+$') ~= nil
end

local function client_of(ticket)
  return string.match(ticket, '^[^:]*')
end

local function whole(number)
  return string.format('%.0f', number)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- score_of is 0 if the element has none.
local function score_of(timeouts, element)
  local score = redis.pcall('ZSCORE', timeouts, element)
  return type(score) == 'string' and tonumber(score) or 0
end

-- sender says by which command messages go, and whether that counts all who hear them.
local function sender(channel, how)
  local publish, _, _, counted = passing(how)
  if publish == 'SPUBLISH' then
    local waiting
    waiting, publish = redisson_waiters(channel, publish)
    counted = counted and waiting >= 0
  end
  return publish, counted
end

-- placed reports whether a ticket is in the line. Scores without a list are of a line that Redis has evicted, or that somebody
-- has deleted: who has one of them is not in the line.
local function placed(queue, timeouts, ticket)
  return redis.call('EXISTS', queue) == 1 and redis.call('ZSCORE', timeouts, ticket)
end

-- begin removes the scores of such a line.
local function begin(queue, timeouts)
  if redis.call('EXISTS', queue) == 0 then
    redis.call('DEL', timeouts)
  end
end

-- join puts a ticket at the end of the line. The lock is held until `held`, or is free.
local function join(queue, timeouts, ticket, held, wait)
  begin(queue, timeouts)
  local last = redis.call('LINDEX', queue, -1)
  local due = math.max(held, last and score_of(timeouts, last) or 0) + wait
  redis.call('ZADD', timeouts, whole(due), ticket)
  redis.call('RPUSH', queue, ticket)
end

-- rejoin puts a ticket that was dropped back: behind another one of its client, or to the front.
local function rejoin(queue, timeouts, ticket, behind, held, wait)
  begin(queue, timeouts)
  redis.call('LREM', queue, 0, ticket)
  if behind == '' or redis.call('LINSERT', queue, 'AFTER', behind, ticket) <= 0 then
    redis.call('LPUSH', queue, ticket)
  end
  redis.call('ZADD', timeouts, whole(held + wait), ticket)
end

-- went notes that so many have left the line. What can fail has been done.
local function went(queue, timeouts, line, many)
  if redis.pcall('EXISTS', queue) == 0 then
    redis.pcall('DEL', timeouts, line) -- nobody is owed anything
    return
  end
  if many > 0 then
    local owed = redis.pcall('HGET', line, 'owed')
    owed = type(owed) == 'string' and tonumber(owed) or 0
    redis.pcall('HSET', line, 'owed', whole(owed + many))
    redis.pcall('PEXPIRE', line, 60000)
  end
end

-- take takes the ticket of a waiter out of the line that has got the lock.
local function take(queue, timeouts, line, ticket)
  redis.pcall('HDEL', line, 'absent')
  local taken = redis.pcall('ZREM', timeouts, ticket)
  redis.pcall('LREM', queue, 1, ticket) -- it is the first, but after a drop
  went(queue, timeouts, line, taken == 1 and 1 or 0)
end

-- heads finds whose turn it is, while the lock is free or about to be, and tells it. It drops a head that does not come:
--   of Go       at once if nobody hears the message, otherwise after 2 s
--   of Redisson after 10 s: it may be about to subscribe, for which it has 7.5 s
--   either      after 1 s if its score has passed
-- A head is told once. Redisson may have the lock meanwhile, and the same thread be the first again: then its score
-- is another.
--
-- Returns the head, unless it is `mine`, and the ms that are left to it; or mine; or false if nobody waits.
local function heads(queue, timeouts, line, mine, channel, how)
  local now, publish, counted = now_ms(), nil, nil
  for _ = 1, 128 do -- bounds one script; the rest is left to the next
    local head = redis.pcall('LINDEX', queue, 0)
    if type(head) ~= 'string' or head == mine then
      return type(head) == 'string' and head, 0
    end
    local go, score = is_ticket(head), score_of(timeouts, head)
    local grace = go and 2000 or 10000
    local told = redis.pcall('HGET', line, 'absent')
    local since, whom = string.match(type(told) == 'string' and told or '', '^(%d+) (.*)$')
    local this = whole(score) .. ' ' .. head
    if whom ~= this then
      if not publish then
        publish, counted = sender(channel, how)
      end
      local to = go and client_of(head) or head
      local heard = redis.pcall(publish, channel .. ':' .. to, '0')
      if not (go and counted and heard == 0) then
        redis.pcall('HSET', line, 'absent', whole(now) .. ' ' .. this)
        redis.pcall('PEXPIRE', line, 60000)
        return head, grace
      end
    else
      if score <= now then
        grace = 1000
      end
      if now - since < grace then
        return head, grace - (now - since)
      end
    end
    redis.pcall('LPOP', queue)
    redis.pcall('ZREM', timeouts, head)
  end
  return redis.pcall('LINDEX', queue, 0), 0
end
