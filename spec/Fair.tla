---- MODULE Fair ----
\* The fair lock: who was lined up first is granted first, and who does not come costs a grace.
\*
\* Modelled: waiters of several clients in one line, each wait with a ticket of its own, by the scripts
\* fair_acquire, fair_line, fair_pass and fair_leave; clients that die, and that stop and go on; a line that Redis forgets;
\* a leave that runs late; answers that are lost. Of each client the first waiter asks in each unit of time.
\*
\* Left out: scores, by which Redisson drops heads (simulated, docs/decisions.md), messages, which only let a
\* waiter ask sooner than by its poll, epochs (Acquire), renewals.
\*
\* Claims: Order, nobody is granted the lock before a ticket that Redis had confirmed when he came, and that still waits,
\* unless that was dropped for cause and is not back in the line, or he was dropped himself; Prompt, a free lock for which a live waiter is lined up is free no
\* longer than a grace for the client that has stopped, and two units; Ours, the lock is granted to tickets that wait.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   newcomer-overtakes  a free lock is granted to who asks first
\*   back-to-the-end     a ticket that was dropped lines up again behind all
\*   pass-to-our-own     a release hands the lock to the next waiter of its client, whoever is first
\*   leave-by-owner      a leave takes away what the owner has in the line, also a later ticket
\*   dead-head-stays     a head that does not come is not dropped
\*   no-grace            a head is dropped if it has not come when the next one asks
\*   dropped-untold      a head that is told is not noted, so its grace begins anew at each question
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANTS w1, w2, w3, Waiters, Clients, ClientOf, Lease, Grace, MaxTime, MaxWaits, MaxTrouble, MaxLosses, Bug
VARIABLES now, holder, expiry, queue, absent,             \* in Redis; absent: the head that was told, and when
          st, number, lined, polled,                       \* of a waiter: its state, its tickets so far, whether confirmed; whether a client has asked in this unit
          leaving, away,                                  \* tickets to be taken out; clients: up, stopped or dead
          ahead, excused, wrong, freeSince, waits, trouble, losses
vars == <<now, holder, expiry, queue, absent, st, number, lined, polled, leaving, away, ahead, excused, wrong, freeSince, waits, trouble, losses>>

Homes == (w1 :> "a") @@ (w2 :> "a") @@ (w3 :> "b")
Nobody == <<"", 0>>
Told(t, at) == [ticket |-> t, at |-> at]
Ticket(w) == <<w, number[w]>>
Of(t) == ClientOf[t[1]]
Waits(t) == t[1] \in Waiters /\ st[t[1]] = "waits" /\ number[t[1]] = t[2]
InLine(q, t) == \E i \in 1..Len(q) : q[i] = t
Without(q, t) == SelectSeq(q, LAMBDA x : x # t)

\* The waiters of a client in their order: by the number of the wait over all, which is how they came.
Mine(c) == {w \in Waiters : ClientOf[w] = c /\ st[w] = "waits"}
First(c) == CHOOSE w \in Mine(c) : \A v \in Mine(c) : number[w] <= number[v]

Init ==
  /\ now = 1 /\ holder = <<"another", 0>> /\ expiry = 2 /\ queue = <<>> /\ absent = Told(Nobody, 0)
  /\ st = [w \in Waiters |-> "idle"] /\ number = [w \in Waiters |-> 0] /\ lined = [w \in Waiters |-> FALSE]
  /\ polled = [c \in Clients |-> FALSE] /\ leaving = {} /\ away = [c \in Clients |-> "up"]
  /\ ahead = [w \in Waiters |-> {}] /\ excused = {} /\ wrong = {} /\ freeSince = 1
  /\ waits = 0 /\ trouble = 0 /\ losses = 0

\* --- heads: whose turn it is ---------------------------------------------------------------------------
\* It returns the line, who was told, and who was dropped for cause.

RECURSIVE Heads(_, _, _, _)
Heads(q, told, mine, gone) ==
  IF q = <<>> \/ Head(q) = mine THEN [line |-> q, told |-> told, gone |-> gone]
  ELSE LET h == Head(q) IN
    IF Bug = "dead-head-stays" THEN [line |-> q, told |-> told, gone |-> gone]
    ELSE IF told.ticket # h
    THEN IF away[Of(h)] = "dead" THEN Heads(Tail(q), told, mine, gone \cup {h})
         ELSE [line |-> q, told |-> IF Bug = "dropped-untold" THEN told ELSE Told(h, now), gone |-> gone]
    ELSE IF Bug = "no-grace" THEN Heads(Tail(q), told, mine, gone)
    ELSE IF now < told.at + Grace THEN [line |-> q, told |-> told, gone |-> gone]
    ELSE Heads(Tail(q), told, mine, gone \cup {h})

\* --- grants --------------------------------------------------------------------------------------------

Overtakes(t, q, gone) ==
  \E u \in ahead[t[1]] : /\ t \notin excused /\ Waits(u) /\ away[Of(u)] = "up"
                         /\ InLine(q, u) \/ u \notin excused \cup gone

Grant(t, q, gone) ==
  /\ holder' = t /\ expiry' = now + Lease /\ queue' = Without(q, t) /\ absent' = Told(Nobody, 0)
  /\ wrong' = wrong \cup (IF Overtakes(t, q, gone) THEN {"order"} ELSE {}) \cup (IF Waits(t) THEN {} ELSE {"ours"})
  /\ excused' = excused \cup gone

\* --- what clients do -----------------------------------------------------------------------------------

Confirm(w, heard) == lined' = IF heard THEN [lined EXCEPT ![w] = TRUE] ELSE lined

\* fair_acquire. heard: the client gets the answer.
Acquire(w, heard) ==
  LET t == Ticket(w)
      back == lined[w] /\ ~InLine(queue, t)
      h == Heads(queue, absent, t, {})
      free == holder = Nobody
      turn == free /\ (h.line = <<>> \/ Head(h.line) = t \/ back \/ Bug = "newcomer-overtakes")
      line == IF free THEN h.line ELSE queue
  IN
  /\ st[w] = "waits" /\ away[ClientOf[w]] = "up" /\ First(ClientOf[w]) = w
  /\ (~polled[ClientOf[w]] \/ turn \/ ~lined[w] \/ ~InLine(queue, t)) = TRUE \* to ask twice at a time changes nothing
  /\ polled' = [polled EXCEPT ![ClientOf[w]] = TRUE]
  /\ IF turn /\ heard
     THEN /\ Grant(t, h.line, h.gone) /\ st' = [st EXCEPT ![w] = "holds"] /\ UNCHANGED <<lined, freeSince>>
     ELSE /\ ~turn \* a grant of which the client does not hear is taken back by its next command
          /\ queue' = IF InLine(line, t) THEN line
                      ELSE IF back /\ Bug # "back-to-the-end" THEN <<t>> \o line ELSE Append(line, t)
          /\ absent' = (IF free THEN h.told ELSE absent) /\ excused' = excused \cup (IF free THEN h.gone ELSE {})
          /\ Confirm(w, heard)
          /\ UNCHANGED <<holder, expiry, st, wrong, freeSince>>
  /\ UNCHANGED <<now, number, leaving, away, ahead, waits, trouble>>

Ask(w) == Acquire(w, TRUE) /\ UNCHANGED losses
AskInVain(w) == losses < MaxLosses /\ losses' = losses + 1 /\ Acquire(w, FALSE)

\* fair_line: a waiter that is not the first of its client.
LineUp(w) ==
  LET t == Ticket(w) IN
  /\ st[w] = "waits" /\ away[ClientOf[w]] = "up" /\ First(ClientOf[w]) # w /\ ~InLine(queue, t) /\ ~lined[w]
  /\ InLine(queue, Ticket(First(ClientOf[w])))
  /\ queue' = Append(queue, t) /\ Confirm(w, TRUE)
  /\ UNCHANGED <<now, holder, expiry, absent, st, number, polled, leaving, away, ahead, excused, wrong, freeSince, waits, trouble, losses>>

Come(w) ==
  /\ st[w] = "idle" /\ away[ClientOf[w]] = "up" /\ waits < MaxWaits /\ waits' = waits + 1
  /\ st' = [st EXCEPT ![w] = "waits"] /\ number' = [number EXCEPT ![w] = waits + 1] /\ lined' = [lined EXCEPT ![w] = FALSE]
  /\ polled' = IF Mine(ClientOf[w]) = {} THEN [polled EXCEPT ![ClientOf[w]] = FALSE] ELSE polled
  /\ ahead' = [ahead EXCEPT ![w] = {Ticket(v) : v \in {v \in Waiters : st[v] = "waits" /\ lined[v]}}]
  /\ UNCHANGED <<now, holder, expiry, queue, absent, leaving, away, excused, wrong, freeSince, trouble, losses>>

GiveUp(w) ==
  /\ st[w] = "waits" /\ away[ClientOf[w]] = "up" /\ trouble < MaxTrouble /\ trouble' = trouble + 1
  /\ st' = [st EXCEPT ![w] = "idle"] /\ leaving' = leaving \cup {Ticket(w)}
  /\ UNCHANGED <<now, holder, expiry, queue, absent, number, lined, polled, away, ahead, excused, wrong, freeSince, waits, losses>>

\* fair_leave, at any time after.
Leave(t) ==
  /\ t \in leaving /\ leaving' = leaving \ {t} /\ away[Of(t)] = "up"
  /\ LET rest == IF Bug = "leave-by-owner" THEN SelectSeq(queue, LAMBDA x : x[1] # t[1]) ELSE Without(queue, t)
         h == Heads(rest, absent, Nobody, {}) IN
     IF holder = Nobody THEN queue' = h.line /\ absent' = h.told /\ excused' = excused \cup h.gone
     ELSE queue' = rest /\ UNCHANGED <<absent, excused>>
  /\ UNCHANGED <<now, holder, expiry, st, number, lined, polled, away, ahead, wrong, freeSince, waits, trouble, losses>>

\* fair_pass.
Release(w) ==
  /\ st[w] = "holds" /\ away[ClientOf[w]] = "up" /\ holder = Ticket(w)
  /\ LET c == ClientOf[w] IN
     IF Mine(c) # {}
     THEN LET u == First(c)
              t == Ticket(u)
              back == lined[u] /\ ~InLine(queue, t)
              line == IF InLine(queue, t) \/ back THEN queue ELSE Append(queue, t)
              h == Heads(line, Told(Nobody, 0), t, {}) IN
          IF back \/ Bug = "pass-to-our-own" \/ (h.line # <<>> /\ Head(h.line) = t)
          THEN /\ Grant(t, IF back THEN line ELSE h.line, h.gone)
               /\ st' = [st EXCEPT ![w] = "idle", ![u] = "holds"] /\ UNCHANGED <<freeSince, lined>>
          ELSE /\ holder' = Nobody /\ expiry' = 0 /\ queue' = h.line /\ absent' = h.told /\ excused' = excused \cup h.gone
               /\ st' = [st EXCEPT ![w] = "idle"] /\ freeSince' = now /\ lined' = [lined EXCEPT ![u] = TRUE] /\ UNCHANGED wrong
     ELSE LET h == Heads(queue, Told(Nobody, 0), Nobody, {}) IN
          /\ holder' = Nobody /\ expiry' = 0 /\ queue' = h.line /\ absent' = h.told /\ excused' = excused \cup h.gone
          /\ st' = [st EXCEPT ![w] = "idle"] /\ freeSince' = now /\ UNCHANGED <<wrong, lined>>
  /\ UNCHANGED <<now, number, polled, leaving, away, ahead, waits, trouble, losses>>

\* --- trouble -------------------------------------------------------------------------------------------

Trouble(c, to) ==
  /\ away[c] = "up" /\ trouble < MaxTrouble /\ trouble' = trouble + 1 /\ away' = [away EXCEPT ![c] = to]
  /\ UNCHANGED <<now, holder, expiry, queue, absent, st, number, lined, polled, leaving, ahead, excused, wrong, freeSince, waits, losses>>
GoOn(c) ==
  /\ away[c] = "stopped" /\ away' = [away EXCEPT ![c] = "up"]
  /\ polled' = [polled EXCEPT ![c] = FALSE]
  /\ st' = [w \in Waiters |-> IF ClientOf[w] = c /\ st[w] = "holds" /\ holder # Ticket(w) THEN "idle" ELSE st[w]]
  /\ UNCHANGED <<now, holder, expiry, queue, absent, number, lined, leaving, ahead, excused, wrong, freeSince, waits, trouble, losses>>
Forget ==
  /\ queue # <<>> /\ trouble < MaxTrouble /\ trouble' = trouble + 1
  /\ queue' = <<>> /\ absent' = Told(Nobody, 0) /\ excused' = excused \cup {queue[i] : i \in 1..Len(queue)}
  /\ UNCHANGED <<now, holder, expiry, st, number, lined, polled, leaving, away, ahead, wrong, freeSince, waits, losses>>

Asks(w) == st[w] = "waits" /\ away[ClientOf[w]] = "up" /\ First(ClientOf[w]) = w

Tick ==
  /\ now < MaxTime /\ now' = now + 1
  /\ \A w \in Waiters : Asks(w) => polled[ClientOf[w]]
  /\ polled' = [c \in Clients |-> FALSE]
  /\ \A w \in Waiters : st[w] = "holds" /\ away[ClientOf[w]] = "up" => now + 1 < expiry
  /\ IF holder # Nobody /\ expiry <= now'
     THEN holder' = Nobody /\ expiry' = 0 /\ absent' = Told(Nobody, 0)
     ELSE UNCHANGED <<holder, expiry, absent>>
  /\ freeSince' = IF holder = Nobody /\ (\E w \in Waiters : Asks(w) /\ lined[w]) THEN freeSince ELSE now'
  /\ UNCHANGED <<queue, st, number, lined, leaving, away, ahead, excused, wrong, waits, trouble, losses>>

Next ==
  \/ Tick \/ Forget
  \/ \E w \in Waiters : Come(w) \/ Ask(w) \/ AskInVain(w) \/ LineUp(w) \/ GiveUp(w) \/ Release(w)
  \/ \E t \in leaving : Leave(t)
  \/ \E c \in Clients : Trouble(c, "dead") \/ Trouble(c, "stopped") \/ GoOn(c)

Order == "order" \notin wrong
Ours == "ours" \notin wrong
Prompt == (holder = Nobody /\ \E w \in Waiters : Asks(w) /\ lined[w]) => now <= freeSince + Grace + 2
====
