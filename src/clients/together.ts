/**
 * Calls of the same moment become one request, of at most `most` items. Calls with the same key share one item. `send`
 * resolves with the answers in the order of the items.
 */
export function together<Item, Answer>(
  most: number,
  keyOf: (item: Item) => string,
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  type Batch = Map<string, { readonly item: Item; readonly answer: PromiseWithResolvers<Answer> }>
  let next: Batch | undefined
  return (item) => {
    const batch = next && next.size < most ? next : begin()
    const key = keyOf(item)
    const call = batch.get(key) ?? { item, answer: Promise.withResolvers<Answer>() }
    batch.set(key, call)
    return call.answer.promise
  }

  function begin(): Batch {
    const batch: Batch = new Map()
    next = batch
    setImmediate(() => {
      if (next === batch) next = undefined
      const calls = [...batch.values()]
      send(calls.map(({ item }) => item)).then(
        (answers) => {
          for (const [index, { answer }] of calls.entries()) answer.resolve(answers[index] as Answer)
        },
        (error) => {
          for (const { answer } of calls) answer.reject(error)
        },
      )
    })
    return batch
  }
}
