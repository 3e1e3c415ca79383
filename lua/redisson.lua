-- redisson: a function, redisson_waiters, put before the scripts that let a lock go. It tells how many
-- subscribers of the lock's common channel are not Go clients, that is, how many
-- clients of Redisson wait, or -1 if that cannot be told; and the command to publish
-- with. Every Go client that listens there listens on `listeners` as well, on which
-- nothing is ever published.
--
-- In a cluster that is to be SPUBLISH, whose receivers are all at this node, or else
-- PUBLISH, whose receivers are anywhere. Who listens must decide alike, so everybody
-- asks the node of the lock the question that Redisson asks: if it refuses PUBSUB
-- SHARDNUMSUB, because it is old or because of who asks, then PUBLISH.

local function redisson_waiters(channel, listeners, publish)
  local sharded = publish == 'SPUBLISH'
  local subscribers = redis.pcall('PUBSUB', sharded and 'SHARDNUMSUB' or 'NUMSUB', channel, listeners)
  if subscribers.err then
    return sharded and -1 or 0, 'PUBLISH'
  end
  return math.max(0, subscribers[2] - subscribers[4]), publish
end
