-- redisson: functions put before the scripts that let a lock go.
--
-- passing takes the argument `how` apart, with which all these scripts pass a lock on or say who waits:
-- publish, pause, yield and counted, with a space between them. One argument costs less than four,
-- and most releases need none of them.
--   publish  PUBLISH; or SPUBLISH, if the node has it
--   pause    ms that the free lock is kept for a woken client
--   yield    ms that it is kept for waiters of Redisson instead
--   counted  1: PUBLISH and PUBSUB count all subscribers
--
-- redisson_waiters returns how many clients of Redisson wait, or -1 if that cannot be told, and the command
-- to publish with. Redisson's waiters are the subscribers of the lock's common channel that
-- are not Go clients. Every Go client that listens there also listens on the listeners' channel, on
-- which nothing is ever published. The two channels differ in what comes before the lock's name.
--
-- In a cluster the command is SPUBLISH, whose receivers are all at this node, or else
-- PUBLISH, whose receivers are anywhere. Clients that publish and clients that listen must
-- decide alike. So all of them ask the node of the lock the question that Redisson asks,
-- PUBSUB SHARDNUMSUB. If the node refuses it, since it is old or the user may not ask, the
-- command is PUBLISH.

local function passing(how)
  local publish, pause, yield, counted = string.match(how, '^(%u+) (%d+) (%d+) ([01])$')
  return publish, pause, yield, counted == '1'
end

local function redisson_waiters(channel, publish)
  local sharded = publish == 'SPUBLISH'
  local listeners = 'redlatch_listeners' .. string.match(channel, ':.*')
  local subscribers = redis.pcall('PUBSUB', sharded and 'SHARDNUMSUB' or 'NUMSUB', channel, listeners)
  if subscribers.err then
    return sharded and -1 or 0, 'PUBLISH'
  end
  return math.max(0, subscribers[2] - subscribers[4]), publish
end
