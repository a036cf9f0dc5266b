//! The images that a version uses.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::name::Name;
use super::shell::Shell;
use super::words::counted;
use crate::server::hub::views::ImageView;
use crate::server::hub::{Hub, blocking};

#[derive(Template)]
#[template(path = "images.html")]
struct ImagesPage {
    shell: Shell,
    frame: Frame,
    images: Vec<ImageView>,
    summary: String,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let choice = PackageChoice::parse(query.as_deref());
    let work = move || {
        let frame = Frame::load(&hub, &package, &choice, Tab::Images)?;
        let images = frame.version.related_images.clone();
        Ok(ImagesPage {
            shell: Frame::shell(&hub),
            summary: summary(&images),
            frame,
            images,
        })
    };
    super::html(&blocking(work).await?)
}

fn summary(images: &[ImageView]) -> String {
    let pinned = images.iter().filter(|image| image.is_pinned).count();
    let all = counted(images.len(), "image", "images");
    match pinned {
        0 => format!("{all}, none by digest: what a tag means can change."),
        some if some == images.len() => format!("{all}, all by digest: they never change."),
        some => format!("{all}, {some} by digest: what the tags of the others mean can change."),
    }
}
