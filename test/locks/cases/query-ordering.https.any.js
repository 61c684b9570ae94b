const { locks } = navigator

const clientsOf = (list, name) => list.filter((lock) => lock.name === name).map((lock) => lock.clientId)

async function untilPending(name, count) {
  for (;;) {
    const pending = clientsOf((await locks.query()).pending, name)
    if (pending.length === count) return pending
  }
}

promise_test(async (t) => {
  const name = uniqueName(t)
  const frames = [await iframe('iframe.html'), await iframe('iframe.html'), await iframe('iframe.html')]
  for (const frame of frames) t.add_cleanup(() => frame.remove())
  const ids = []
  for (const frame of frames) ids.push((await postToFrameAndWait(frame, { op: 'client_id', name })).client_id)
  for (const order of [
    [0, 1, 2],
    [2, 0, 1],
  ]) {
    const [holding, release] = makePromiseAndResolveFunc()
    const granted = Promise.withResolvers()
    const held = locks.request(name, () => {
      granted.resolve()
      return holding
    })
    await granted.promise
    const requests = []
    let pending = []
    for (const n of order) {
      requests.push(postToFrameAndWait(frames[n], { op: 'request', name }))
      pending = await untilPending(name, requests.length)
    }
    assert_array_equals(
      pending,
      order.map((n) => ids[n]),
    )
    release()
    await held
    for (const [at, request] of requests.entries()) {
      const { lock_id } = await request
      await postToFrameAndWait(frames[order[at]], { op: 'release', lock_id })
    }
    await locks.request(name, () => {})
  }
}, 'Requests appear in state in order made.')
