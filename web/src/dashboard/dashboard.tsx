import { useEffect, useState, useSyncExternalStore } from 'react'
import { PageHeader } from '../ui/page-header.tsx'
import { usePreferences } from '../ui/preferences.ts'
import { AuditTrail } from './audit-trail.tsx'
import { EventStream } from './event-stream.tsx'
import { Figures, Plots } from './figures.tsx'
import { LeaseTable } from './lease-table.tsx'
import { type LiveLease, LiveLeases, LOADING } from './live-leases.ts'
import { ReleaseDialog } from './release-dialog.tsx'
import { SignIn, useToken } from './sign-in.tsx'
import { dashboardTexts } from './texts.ts'

const TABS = ['leases', 'plots', 'audit'] as const

export function Dashboard() {
  const [{ lang }] = usePreferences()
  const words = dashboardTexts[lang]
  const [token, setToken] = useToken()
  const live = useLiveLeases(token)
  const { phase, isLoaded, leases, events, stats, audit } = useSyncExternalStore(
    (listener) => live?.subscribe(listener) ?? (() => {}),
    () => live?.state ?? LOADING,
  )
  const [tab, setTab] = useState<(typeof TABS)[number]>('leases')
  const [releasing, setReleasing] = useState<LiveLease | null>(null)
  return (
    <>
      <PageHeader current="dashboard">
        <span className="notice" role="status" data-phase={phase}>
          {phase === 'offline' ? words.offline : phase === 'loading' ? words.loading : ''}
        </span>
      </PageHeader>
      <main className="dashboard">
        {phase === 'signed-out' ? (
          <SignIn words={words} isWrong={token !== ''} onToken={setToken} />
        ) : (
          <>
            <Figures live={leases.length} stats={stats} words={words} />
            <div className="bar tabs">
              {TABS.map((name) => (
                <button key={name} type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>
                  {words[name]}
                </button>
              ))}
            </div>
            {tab === 'leases' && (
              <div className="columns">
                <LeaseTable leases={leases} isLoading={!isLoaded} words={words} onRelease={setReleasing} />
                <EventStream events={events} words={words} />
              </div>
            )}
            {tab === 'plots' && <Plots stats={stats} words={words} />}
            {tab === 'audit' && <AuditTrail entries={audit} words={words} />}
          </>
        )}
      </main>
      {releasing !== null && live && (
        <ReleaseDialog
          resource={releasing.resource}
          words={words}
          onConfirm={() => live.release(releasing)}
          onClose={() => setReleasing(null)}
        />
      )}
    </>
  )
}

function useLiveLeases(token: string): LiveLeases | null {
  const [live, setLive] = useState<LiveLeases | null>(null)
  useEffect(() => {
    const opened = new LiveLeases(token)
    setLive(opened)
    return () => opened.close()
  }, [token])
  return live
}
