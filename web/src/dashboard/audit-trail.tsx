import type { AuditEntry } from '../../../src/protocol/index.ts'
import type { DashboardTexts } from './texts.ts'

interface AuditTrailProps {
  readonly entries: readonly AuditEntry[]
  readonly words: DashboardTexts
}

/** Who locked, unlocked, took over and was released by force. */
export function AuditTrail({ entries, words }: AuditTrailProps) {
  if (entries.length === 0) return <p className="card quiet empty">{words.noAudit}</p>
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
          {entries.map(({ at, action, resource, token, owner, by }) => (
            <tr key={`${at} ${action} ${resource} ${token}`}>
              <td className="mono">{new Date(at).toLocaleString(undefined, { hour12: false })}</td>
              <td>{words.actions[action]}</td>
              <td className="name">{resource}</td>
              <td className="mono quiet">{token}</td>
              <td className="name mono">{owner}</td>
              <td className="name mono">{by}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
