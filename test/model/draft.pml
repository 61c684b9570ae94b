/*
 * The saves of one turn at a document. A tab saves its text again and again with the same token. The network delivers each
 * request at any later time, also after the tab has given it up and has saved newer text, and it may deliver one twice.
 *
 * The steps have the names of `save` in a DocumentStore. Text number n is what the tab had typed at its n-th save, and
 * 0 is the text from before.
 *
 * Variant that must fail: -DUNNUMBERED.
 */
#define SAVES 3

byte stored;
/* The sequence of the stored save. */
byte sequence;
/* The newest text whose save was confirmed. */
byte confirmed;
bool sent[SAVES + 1];
byte deliveries[SAVES + 1];

#ifdef UNNUMBERED
#define isNewer(n) true
#else
#define isNewer(n) (n > sequence)
#endif

inline save(n) {
  d_step {
    deliveries[n]++;
    if
    :: isNewer(n) -> stored = n; sequence = n; printf("text %d is stored\n", n)
    /* The same save again is answered as before. */
    :: !isNewer(n) && n == sequence -> printf("text %d is stored already\n", n)
    :: else -> printf("text %d is refused\n", n)
    fi;
    assert(stored >= confirmed)
  }
}

proctype Network(byte n) {
  sent[n];
end:
  do
  :: deliveries[n] < 2 -> save(n)
  :: else -> break
  od
}

proctype Tab() {
  byte n = 1;
  do
  :: n <= SAVES ->
    printf("the tab saves text %d\n", n);
    sent[n] = true;
    if
    :: atomic { deliveries[n] > 0 && stored == n -> confirmed = n; printf("text %d is confirmed\n", n) }
    :: printf("the tab gives up the save of text %d\n", n)
    fi;
    n++
  :: else -> break
  od
}

init {
  byte n;
  atomic {
    run Tab();
    for (n : 1 .. SAVES) { run Network(n) }
  }
}
