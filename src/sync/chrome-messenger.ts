import { type ChromeApi, globalApi } from './chrome-api.ts'
import type { Messenger } from './messenger.ts'

export interface ChromeMessengerOptions {
  /** Which tabs' content scripts are told, from contexts that know of tabs: a query, or `false` for none. Default: all. */
  readonly tabs?: object | false
  /** Default: `browser` or `chrome`. */
  readonly api?: ChromeApi
}

/**
 * `runtime.sendMessage`, which reaches pages and the worker, and `tabs.sendMessage`, which reaches content scripts.
 *
 * @example
 * createSync({ storage: chromeStorage(), messenger: chromeMessenger({ tabs: { url: 'https://example.com/*' } }) })
 */
export function chromeMessenger({ tabs = {}, api = globalApi() }: ChromeMessengerOptions = {}): Messenger {
  return {
    async send(message) {
      const contentScripts = tabs ? ((await api.tabs?.query(tabs).catch(() => [])) ?? []) : []
      return firstAnswer([
        api.runtime.sendMessage(message),
        ...contentScripts.flatMap(({ id }) => (id === undefined ? [] : api.tabs?.sendMessage(id, message))),
      ])
    },
    subscribe(listener) {
      const onMessage = (message: unknown, _sender: unknown, sendResponse: (answer: unknown) => void) => {
        const answer = listener(message)
        if (answer === undefined) return undefined
        // To one who has gone meanwhile no answer can be given.
        Promise.resolve(answer)
          .then(sendResponse)
          .catch(() => {})
        // Keeps the way for the answer open.
        return true
      }
      api.runtime.onMessage.addListener(onMessage)
      return () => api.runtime.onMessage.removeListener(onMessage)
    },
  }
}

/** A rejection is one who is not there. */
function firstAnswer(answers: readonly (Promise<unknown> | undefined)[]): Promise<unknown> {
  return new Promise((resolve) => {
    const ends = answers.map(async (answer) => {
      const given = await answer?.catch(() => undefined)
      if (given !== undefined && given !== null) resolve(given)
    })
    void Promise.all(ends).then(() => resolve(undefined))
  })
}
