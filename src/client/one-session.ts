import type { Api } from './api.ts'

let turn: Promise<unknown> = Promise.resolve()

/**
 * A browser without the session's cookie would be given a session with each of the requests that it sends at once,
 * and the last would not hold what another has locked. So tabs take turns until their first answer has come. On
 * plain http there are no Web Locks: then at least those of one page do.
 */
export function inOneSession(api: Api): Api {
  // Where there are no cookies, Web Locks are refused too.
  let isKnown = !globalThis.navigator?.cookieEnabled
  return (request) => {
    if (isKnown) return api(request)
    const meet = async () => {
      const answer = await api(request)
      isKnown = true
      return answer
    }
    const met = navigator.locks?.request('holdfast:session', meet) ?? turn.then(meet, meet)
    turn = met
    return met
  }
}
