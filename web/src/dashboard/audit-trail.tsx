import type { AuditEntry } from '../../../src/protocol/index.ts'
import type { DashboardTexts } from './texts.ts'
import { Token } from './token.tsx'

/** The Swedish format is `2026-01-31 12:04:05`: everybody can read it, and all times have the same width. */
const LIKE_ISO = 'sv-SE'

interface AuditTrailProps {
  /** `null`: the server does not show them. */
  readonly entries: readonly AuditEntry[] | null
  readonly words: DashboardTexts
}

function timeOf(at: string): string {
  return new Date(at).toLocaleString(LIKE_ISO)
}

/** Who locked, unlocked and took over, and whose lease was released by force. */
export function AuditTrail({ entries, words }: AuditTrailProps) {
  if (entries === null || entries.length === 0)
    return <p className="card quiet empty">{entries ? words.noEvents : words.noAudit}</p>
  return (
    <section className="card audit">
      <table>
        <thead>
          <tr>
            {[words.when, words.action, words.resource, words.token, words.holder, words.by].map((title) => (
              <th key={title}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map(({ at, action, resource, token, owner, owner_name, by }) => (
            <tr key={`${at} ${action} ${resource} ${token}`}>
              <td className="mono">{timeOf(at)}</td>
              <td>{words.actions[action]}</td>
              <td className="name">
                <bdi>{resource}</bdi>
              </td>
              <td>{token > 0 && <Token token={token} words={words} />}</td>
              <td className="name" title={owner}>
                <bdi>{owner_name ?? owner}</bdi>
              </td>
              <td className="name">
                <bdi>{by}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
