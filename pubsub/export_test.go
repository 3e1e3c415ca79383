package pubsub

// SlotOf is for tests.
var SlotOf = slotOf
