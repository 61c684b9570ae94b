/*
 * The lease of one resource, with three clients. Spin visits every order of their steps, and of the steps of the clock.
 *
 *     ask ──▶ grant ──▶ write ──▶ release          refuse ──▶ wait in the queue ──▶ reserved ──▶ ask
 *
 * The steps have the names of the functions in src/stores/lease-row.ts and row-queue.ts. Each is atomic, as in a store.
 * Between two steps a client may stand still for any time, or end for good. Its answers may be lost. There is no time in
 * the model: a lease or a reservation may end at any moment, so every time that a real clock could show is covered.
 *
 * The model is finite: each client acquires ROUNDS times, and only so often does the clock end what somebody still uses.
 * What an ended client left behind may always end.
 *
 * Variants that must fail: -DWITHOUT_FENCING, -DWITHOUT_LAPSE, -DBARGING, -DREVIVING.
 */
#define CLIENTS 3
#ifndef ROUNDS
#define ROUNDS 1
#endif
/* How many may hold the resource beside each client: 1 is exclusive. */
#ifndef SHARES
#define SHARES 1, 1, 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 2
#endif
#ifndef LAPSES
#define LAPSES 1
#endif
#ifndef LOST_ANSWERS
#define LOST_ANSWERS 1
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define NOBODY CLIENTS

/* The row of the resource. A lease and a waiter have the number of their client as id. */
byte share[CLIENTS] = { SHARES };
bool live[CLIENTS];
byte token[CLIENTS];
byte lastToken;
byte queue[CLIENTS] = NOBODY;
byte waiting;
bool reserved[CLIENTS];

/* What the protected resource knows. */
byte fence;

/* How often the clock and the network may still disturb. */
byte expiries = EXPIRIES;
byte lapses = LAPSES;
byte lostAnswers = LOST_ANSWERS;
byte takeovers = TAKEOVERS;
byte crashes = CRASHES;
bool dead[CLIENTS];

/* Only for the checks: the order in which the clients have come. 0: not waiting. */
byte cameAt[CLIENTS];
byte lastCame;
/* The highest token whose write was accepted, and the highest exclusive grant that a client was told. */
byte written;
byte told;

/* Variables of the steps. They are 0 between two steps. */
byte i;
byte taken;
byte limit;
bool stops;

inline clear() {
  i = 0; taken = 0; limit = 0; stops = false
}

inline take(s) {
  taken++;
  if :: s < limit -> limit = s :: else fi
}

/* Sets `taken` and `limit` by the live leases. */
inline roomIn() {
  taken = 0; limit = 255;
  i = 0;
  do
  :: i < CLIENTS -> if :: live[i] -> take(share[i]) :: else fi; i++
  :: else -> break
  od
}

#define fits(s) (taken < limit && taken < (s))

inline leaveQueue(c) {
  i = 0;
  do
  :: i < waiting && queue[i] != c -> i++
  :: else -> break
  od;
  if
  :: i < waiting ->
    waiting--;
    do
    :: i < waiting -> queue[i] = queue[i + 1]; i++
    :: else -> break
    od;
    queue[waiting] = NOBODY
  :: else
  fi;
  reserved[c] = false
}

/* Reserves for the longest prefix of the queue that fits together. */
inline settle() {
  roomIn();
  i = 0;
  do
  :: i < CLIENTS -> if :: reserved[i] -> take(share[i]) :: else fi; i++
  :: else -> break
  od;
  i = 0; stops = false;
  do
  :: i < waiting && !stops ->
    if
    :: reserved[queue[i]] -> skip
    :: else ->
      if
      :: fits(share[queue[i]]) ->
        reserved[queue[i]] = true;
        take(share[queue[i]]);
        printf("it is the turn of client %d\n", queue[i])
      :: else -> stops = true
      fi
    fi;
    i++
  :: else -> break
  od
}

/* Check: nobody holds the resource beside more than it allows. */
inline checkHolders() {
  roomIn();
  assert(taken <= limit)
}

/* Check: nobody is overtaken who came before and has no reservation. */
inline checkOrder(c) {
  i = 0;
  do
  :: i < CLIENTS ->
    assert(i == c || cameAt[i] == 0 || reserved[i] || cameAt[c] < cameAt[i]);
    i++
  :: else -> break
  od
}

inline grant(c) {
  lastToken++;
  token[c] = lastToken;
  live[c] = true;
  leaveQueue(c);
  cameAt[c] = 0;
  checkHolders();
  printf("client %d is granted the lease with token %d\n", c, token[c])
}

inline refuse(c) {
  i = 0;
  do
  :: i < waiting && queue[i] != c -> i++
  :: else -> break
  od;
  if
  :: i == waiting -> queue[waiting] = c; waiting++; printf("client %d waits in the queue\n", c)
  :: else
  fi
}

#ifdef BARGING
#define isItsTurn(c) (reserved[c] || waiting == 0 || share[c] > 1)
#else
#define isItsTurn(c) (reserved[c] || waiting == 0)
#endif

/* The same id again: the same token. */
inline ask(c) {
  d_step {
    if
    :: cameAt[c] == 0 -> lastCame++; cameAt[c] = lastCame
    :: else
    fi;
    settle();
    roomIn();
    if
    :: live[c] -> cameAt[c] = 0; printf("client %d asks again and has token %d\n", c, token[c])
    :: !live[c] && fits(share[c]) && isItsTurn(c) -> checkOrder(c); grant(c)
    :: else -> refuse(c)
    fi;
    clear()
  }
}

/* Takes over from the only live lease, or from nobody. */
inline replace(c) {
  d_step {
    settle();
    roomIn();
    if
    :: !live[c] && taken == 1 ->
      i = 0;
      do
      :: i < CLIENTS -> live[i] = false; reserved[i] = false; i++
      :: else -> break
      od;
      printf("client %d takes over\n", c);
      grant(c);
      settle()
    :: else
    fi;
    clear()
  }
}

/* Extends a live lease. Never revives one that has ended. */
inline renew(c) {
  d_step {
#ifdef REVIVING
    if :: !live[c] -> printf("client %d revives its lease\n", c) :: else fi;
    live[c] = true;
#endif
    checkHolders();
    clear()
  }
}

/* Also the place in the queue and the reservation. */
inline release(c) {
  d_step {
    if :: live[c] -> printf("client %d releases\n", c) :: else fi;
    live[c] = false;
    leaveQueue(c);
    cameAt[c] = 0;
    settle();
    clear()
  }
}

inline expire(c) {
  d_step {
    printf("the lease of client %d expires\n", c);
    live[c] = false;
    settle();
    clear()
  }
}

/* A waiter that was woken does not come: its place goes to the next. */
inline lapse(c) {
  d_step {
    printf("client %d has missed its turn\n", c);
    leaveQueue(c);
    cameAt[c] = 0;
    settle();
    clear()
  }
}

#ifdef WITHOUT_FENCING
#define isAccepted(mine) true
#else
#define isAccepted(mine) (mine >= fence)
#endif

/* A write at the resource, with the token that the client was told. */
inline write(c, mine) {
  d_step {
    if
    :: isAccepted(mine) ->
      printf("the write of client %d with token %d is accepted\n", c, mine);
      assert(mine >= told);
      assert(mine >= written);
      fence = mine;
      written = mine
    :: else -> printf("the write of client %d with token %d is refused\n", c, mine)
    fi
  }
}

/* The grant is written at the resource before the client is told. */
inline tell(c) {
  d_step {
    mine = token[c];
    if
    :: share[c] == 1 ->
      if :: mine > fence -> fence = mine :: else fi;
      if :: mine > told -> told = mine :: else fi
    :: else
    fi
  }
}

#define isQueued(c) ((waiting > 0 && queue[0] == c) || (waiting > 1 && queue[1] == c) || (waiting > 2 && queue[2] == c))

proctype Client(byte me) {
  byte rounds = ROUNDS;
  byte mine;
  do
  :: rounds > 0 ->
    mine = 0;
    if
    :: true -> ask(me)
    :: atomic { takeovers > 0 && share[me] == 1 -> takeovers-- }; replace(me)
    fi;
    do
    :: live[me] ->
      if
      :: tell(me); break
      :: atomic { lostAnswers > 0 -> lostAnswers-- }; ask(me)
      fi
    /* Woken, or its place is gone. */
    :: !live[me] && (reserved[me] || !isQueued(me)) -> ask(me)
    :: atomic { crashes > 0 -> crashes--; dead[me] = true; printf("client %d ends for good\n", me); goto ended }
    od;
    renew(me);
    if
    :: !live[me] -> goto lost
    /* It stood still after a renewal that succeeded, or did not ask. */
    :: true
    fi;
    if
    :: share[me] == 1 -> write(me, mine)
    :: else
    fi;
    if
    :: release(me)
    :: atomic { crashes > 0 -> crashes--; dead[me] = true; printf("client %d ends for good\n", me); goto ended }
    fi;
lost:
    rounds--
  :: else -> break
  od;
ended:
  skip
}

/* Time passes for what one client has. */
proctype Time(byte c) {
end:
  do
  :: atomic { live[c] && (dead[c] || expiries > 0) ->
      if :: dead[c] :: else -> expiries-- fi;
      expire(c)
    }
#ifndef WITHOUT_LAPSE
  :: atomic { reserved[c] && (dead[c] || lapses > 0) ->
      if :: dead[c] :: else -> lapses-- fi;
      lapse(c)
    }
#endif
  od
}

init {
  byte c;
  atomic {
    for (c : 0 .. CLIENTS - 1) { run Client(c); run Time(c) }
  }
}
