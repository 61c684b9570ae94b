import type { Api } from './api.ts'

/**
 * A browser without the session's cookie would be given a session with each of the requests that it sends at once,
 * and the last would not hold what another has locked. So tabs take turns until their first answer has come.
 */
export function inOneSession(api: Api): Api {
  let isKnown = !globalThis.navigator?.locks
  return (request) =>
    isKnown
      ? api(request)
      : navigator.locks.request('holdfast:session', async () => {
          const answer = await api(request)
          isKnown = true
          return answer
        })
}
