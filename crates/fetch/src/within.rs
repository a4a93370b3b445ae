//! A time limit for what mostly takes no time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// Waits for something, but not longer than that. What is there at once needs no clock and no timer.
pub(crate) async fn within<T>(limit: Duration, wanted: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut wanted = pin!(wanted);
    match poll_fn(|context| Poll::Ready(wanted.as_mut().poll(context))).await {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => timeout(limit, wanted).await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn what_takes_too_long_is_not_waited_for() {
        let (short, long) = (Duration::from_millis(5), Duration::from_secs(600));
        assert_eq!(within(long, async { 1 }).await.ok(), Some(1));
        assert!(within(long, sleep(short)).await.is_ok());
        assert!(within(short, sleep(long)).await.is_err());
        assert!(
            within(Duration::ZERO, async {}).await.is_ok(),
            "what is there is taken, however short the time"
        );
    }
}
